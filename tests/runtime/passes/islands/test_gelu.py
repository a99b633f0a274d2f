"""Erfc is lowered with full precision, and both forms of GELU become one node."""

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
CONSTANTS = """
    x = Placeholder() {{dtype=float32, shape=(?, 8)}}
    half = Const() {{dtype=float32, value=float32()[0.5]}}
    one = Const() {{dtype=float32, value=float32()[1]}}
    three = Const() {{dtype=float32, value=float32()[{power}]}}
    cubic = Const() {{dtype=float32, value=float32()[{cubic}]}}
    root = Const() {{dtype=float32, value=float32()[0.7978846]}}
"""
OF_BERT = (
    CONSTANTS
    + """
    cube = Pow(x, three) {{T=float32}}
    small = Mul(cubic, cube) {{T=float32}}
    sum = AddV2({added}, small) {{T=float32}}
    scaled = Mul(root, sum) {{T=float32}}
    tanh = Tanh(scaled) {{T=float32}}
    more = AddV2(one, tanh) {{T=float32}}
    part = Mul(half, more) {{T=float32}}
    y = Mul({multiplied}, part) {{T=float32}}
"""
)
OF_FLAX = (
    CONSTANTS
    + """
    part = Mul(half, x) {{T=float32}}
    once = Mul(cubic, x) {{T=float32}}
    twice = Mul(x, x) {{T=float32}}
    small = Mul(once, twice) {{T=float32}}
    sum = AddV2(x, small) {{T=float32}}
    scaled = Mul(root, sum) {{T=float32}}
    tanh = Tanh(scaled) {{T=float32}}
    more = AddV2(one, tanh) {{T=float32}}
    y = Mul(part, more) {{T=float32}}
"""
)
USUAL = {"power": 3, "cubic": 0.044715, "added": "x", "multiplied": "x"}
X = f32(-9, -3, -1, -0.25, 0, 0.5, 2, 9).reshape(1, 8)
CASES = [
    graph_case(OF_BERT.format(**USUAL), fetches="y:0", x=X, name="tanh_of_bert", atol=1e-6),
    graph_case(OF_FLAX.format(**USUAL), fetches="y:0", x=X, name="tanh_of_flax", atol=1e-6),
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


@pytest.mark.parametrize("text", [OF_BERT, OF_FLAX])
def test_the_approximate_form_is_one_node(text):
    (island,) = islands_of(text.format(**USUAL), ["y:0"], ["x:0"])
    (node,) = island.graph.node
    assert node.op_type == "Gelu"
    assert node.attribute[0].s == b"tanh"


def test_a_factor_that_is_read_elsewhere_stays():
    (island,) = islands_of(OF_BERT.format(**USUAL), ["y:0", "tanh:0"], ["x:0"])
    assert {"Gelu", "Tanh"} <= {node.op_type for node in island.graph.node}


@pytest.mark.parametrize(
    "changes",
    [{"power": 2}, {"cubic": 0.05}, {"added": "half"}, {"added": "tanh_of_x"}, {"multiplied": "cube"}],
)
def test_something_else_is_not(changes):
    text = OF_BERT.format(**{**USUAL, **changes}) + "    tanh_of_x = Tanh(x) {T=float32}\n"
    (island,) = islands_of(text, ["y:0"], ["x:0"])
    assert "Gelu" not in {node.op_type for node in island.graph.node}
