"""Chains of nodes that only reshape become one Reshape, or none."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

HEAD = """
    x = Placeholder() {{dtype=float32, shape={shape}}}
    p = Relu(x) {{T=float32}}
    to = Const() {{dtype=int32, value=int32({first_rank})[{first}]}}
    back = Const() {{dtype=int32, value=int32({second_rank})[{second}]}}
    order = Const() {{dtype=int32, value=int32(4)[0, 3, 1, 2]}}
    q = Reshape(p, to) {{T=float32, Tshape=int32}}
"""


def head(shape, first, second):
    return HEAD.format(
        shape=shape,
        first=", ".join(map(str, first)),
        first_rank=len(first),
        second=", ".join(map(str, second)),
        second_rank=len(second),
    )


AGAIN = "r = Reshape(q, back) {T=float32, Tshape=int32}\n"
TURNED = """
    t = Transpose(q, order) {T=float32, Tperm=int32}
    r = Reshape(t, back) {T=float32, Tshape=int32}
"""
TAIL = "s = Tanh(r) {T=float32}\n    y = Exp(s) {T=float32}\n    z = Abs(y) {T=float32}"


def ops(text):
    (island,) = islands_of(text, ["z:0"], ["x:0"])
    return [node.op_type for node in island.graph.node]


@pytest.mark.parametrize(
    ("shape", "first", "second", "reshapes"),
    [
        ("(2, 6)", [3, 4], [2, 6], 0),
        ("(?, 6)", [1, -1, 6], [-1, 6], 0),
        ("(2, 6)", [3, 4], [4, 3], 1),
        ("(?, 6)", [-1, 2, 3], [-1, 3, 2], 1),
        ("(?, ?)", [-1, 6], [-1, 3], 2),  # the first shape has two unknown sizes
    ],
)
def test_a_chain_of_reshapes(shape, first, second, reshapes):
    text = head(shape, first, second) + AGAIN + TAIL
    assert ops(text).count("Reshape") == reshapes
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    expected = np.exp(np.tanh(x.reshape(first).reshape(second)))
    np.testing.assert_allclose(session_of(text).run("z:0", {"x:0": x}), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ([2, 1, 1, 6], [2, 6], []),  # only axes of size 1 are moved
        ([2, 3, 2, 1], [2, 6], []),
        ([2, 3, 1, 2], [2, 6], ["Reshape", "Transpose", "Reshape"]),
    ],
)
def test_a_transposition_of_axes_of_size_1_reshapes(first, second, left):
    text = head("(2, 6)", first, second) + TURNED + TAIL
    assert [op for op in ops(text) if op in ("Reshape", "Transpose")] == left
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    turned = x.reshape(first).transpose(0, 3, 1, 2).reshape(second)
    np.testing.assert_allclose(session_of(text).run("z:0", {"x:0": x}), np.exp(np.tanh(turned)), rtol=1e-6)


def test_an_output_of_the_island_is_computed():
    text = head("(2, 6)", [3, 4], [2, 6]) + AGAIN + TAIL
    x = np.ones((2, 6), np.float32)
    q, r, z = session_of(text).run(["q:0", "r:0", "z:0"], {"x:0": x})
    assert (q.shape, r.shape, z.shape) == ((3, 4), (2, 6), (2, 6))
