"""Erfc is lowered with full precision, and Keras' GELU becomes one node."""

import pytest
from tests.runtime.cases import case, check, checks, f32, graph_case, numbers
from tests.runtime.programs import islands_of

GELU = """
    x = Placeholder() {dtype=float32, shape=(?, 8)}
    half = Const() {dtype=float32, value=float32()[0.5]}
    root = Const() {dtype=float32, value=float32()[0.70710677]}
    minus = Neg(x) {T=float32}
    scaled = Mul(minus, root) {T=float32}
    tail = Erfc(scaled) {T=float32}
    part = Mul(half, x) {T=float32}
    y = Mul(part, tail) {T=float32}
"""
CASES = [
    # the sum behind the exponential has 24 bits, so its error grows with x²
    case("Erfc", f32(-6, -2, -0.5, 0, 0.3, 1, 2.5, 4, 6, 9), rtol=1e-5, atol=0),
    case("Erfc", f32(float("inf"), float("-inf"), float("nan"))),
    # ONNX says it with `1 + erf`, which differs from `erfc` by a bit of 1 where it is nearly 0
    graph_case(GELU, fetches="y:0", x=numbers(3, 8, low=-6, high=6), name="gelu", atol=1e-6),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_answers(c, ways):
    check("gelu", c, ways)


def test_keras_gelu_is_one_node():
    (island,) = islands_of(GELU, ["y:0"], ["x:0"])
    assert [node.op_type for node in island.graph.node] == ["Gelu"]
