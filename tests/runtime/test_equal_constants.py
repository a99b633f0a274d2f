"""Equal small constants of a graph are one operand of its program, others are not."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.runtime.value_facts import MOST_ELEMENTS

TEXT = """
    x = Placeholder() {{dtype=float32, shape=(?, ?)}}
    a = Const() {{dtype=float32, value={a}}}
    b = Const() {{dtype=float32, value={b}}}
    y = Mul(x, a) {{T=float32}}
    z = Sub(y, b) {{T=float32}}
"""
MANY = ", ".join(["1"] * (MOST_ELEMENTS + 1))
PAIRS = {
    "equal": ("float32()[3]", "float32()[3]", True),
    "another number": ("float32()[3]", "float32()[2]", False),
    "another sign of zero": ("float32()[0]", "float32()[-0.0]", False),
    "another shape": ("float32()[3]", "float32(1)[3]", False),
    "large": (f"float32({MOST_ELEMENTS + 1})[{MANY}]", f"float32({MOST_ELEMENTS + 1})[{MANY}]", False),
}


@pytest.mark.parametrize(("a", "b", "is_one"), PAIRS.values(), ids=PAIRS)
def test_equal_constants(a, b, is_one):
    session = session_of(TEXT.format(a=a, b=b))
    mul, sub = session.program(["z:0"], ["x:0"]).steps
    assert (mul.inputs[1] is sub.inputs[1]) == is_one
    x = np.ones((1, MOST_ELEMENTS + 1), np.float32)
    numbers = [float(text.partition("[")[2].strip("]").split(",")[0]) for text in (a, b)]
    np.testing.assert_array_equal(session.run("z:0", {"x:0": x}), x * numbers[0] - numbers[1])


def test_a_constant_that_is_fed_is_not_an_equal_one():
    session = session_of(TEXT.format(a="float32()[3]", b="float32()[3]"))
    x = np.ones((1, 2), np.float32)
    fed = {"x:0": x, "b:0": np.float32(1)}
    np.testing.assert_array_equal(session.run("z:0", fed), x * 2)
    np.testing.assert_array_equal(session.run("z:0", {"x:0": x}), x * 0)
