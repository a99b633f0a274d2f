"""Products along another axis than the last are not turned there and back, and answer as TensorFlow does."""

import pytest
from tests.runtime.cases import check, checks, graph_case, numbers
from tests.runtime.programs import islands_of

GATE = """
    x = Placeholder() {{dtype=float32, shape=({sizes})}}
    there = Const() {{dtype=int32, value=int32(4)[{there}]}}
    back = Const() {{dtype=int32, value=int32(4)[{back}]}}
    w = Const() {{dtype=float32, value=float32(3, 5)[1, 2, 0, -1, 3, 4, -2, 1, 5, 0, 2, 2, -3, 1, 1]}}
    offset = Const() {{dtype=float32, value=float32({offset})[{offsets}]}}
    turned = Transpose(x, there) {{T=float32, Tperm=int32}}
    product = Einsum(turned, w) {{N=2, T=float32, equation="abcg,gf->abcf"}}
    sum = AddV2({sum}) {{T=float32}}
    y = Transpose(sum, back) {{T=float32, Tperm=int32}}
"""
USUAL = {
    "sizes": "?, 3, ?, 16", "there": "0, 3, 2, 1", "back": "0, 3, 2, 1", "offset": "1, 1, 1, 5",
    "offsets": "1, -1, 0, 2, 0.5", "sum": "product, offset",
}  # fmt: skip
MIXER = """
    x = Placeholder() {dtype=float32, shape=(?, 3, 16)}
    turn = Const() {dtype=int32, value=int32(3)[0, 2, 1]}
    w = Const() {dtype=float32, value=float32(3, 2)[1, 2, 0, -1, 3, 4]}
    v = Const() {dtype=float32, value=float32(2, 4)[1, 0, 2, -1, 0.5, 1, 1, 3]}
    half = Const() {dtype=float32, value=float32()[0.5]}
    offset = Const() {dtype=float32, value=float32(2)[1, -1]}
    turned = Transpose(x, turn) {T=float32, Tperm=int32}
    first = BatchMatMulV2(turned, w) {T=float32}
    sum = AddV2(first, offset) {T=float32}
    tanh = Tanh(sum) {T=float32}
    less = Sub(half, tanh) {T=float32}
    second = BatchMatMulV2(less, v) {T=float32}
    y = Transpose(second, turn) {T=float32, Tperm=int32}
"""
X = numbers(2, 3, 4, 16)
OTHERS = {
    "other_order": {"there": "2, 3, 0, 1", "back": "2, 3, 0, 1"},
    "one_number": {"offset": "", "offsets": "2"},
    "offset_first": {"sum": "offset, product"},
}


def gate(**changes):
    return GATE.format(**{**USUAL, **changes})


CASES = [
    graph_case(gate(), fetches="y:0", x=X, name="gate"),
    graph_case(MIXER, fetches="y:0", x=numbers(2, 3, 16), name="mixer"),
    *(graph_case(gate(**changes), fetches="y:0", x=X, name=name) for name, changes in OTHERS.items()),
]


def transposes(text, fetches="y:0"):
    (island,) = islands_of(text, [*fetches.split()], ["x:0"])
    return [list(node.attribute[0].ints) for node in island.graph.node if node.op_type == "Transpose"]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_answers(c, ways):
    check("turned_products", c, ways)


def test_a_mixer_turns_nothing():
    assert transposes(MIXER) == []


@pytest.mark.parametrize("changes", [{}, *OTHERS.values()])
def test_rows_stay_whole(changes):
    assert rewritten(gate(**changes))
    assert all(perm[-1] == 3 for perm in transposes(gate(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"sizes": "?, 3, ?, 15"},
        {"sizes": "?, 3, ?, ?"},
        {"back": "0, 1, 3, 2"},
        {"sizes": "?, 16, ?, 3", "there": "0, 1, 2, 3"},
        {"offset": "4, 1", "offsets": "1, 2, 3, 4"},
    ],
)
def test_others_are_as_they_were(changes):
    assert not rewritten(gate(**changes))


def test_what_is_read_elsewhere_is_as_it_was():
    assert not rewritten(gate(), "y:0 product:0")


def rewritten(text, fetches="y:0"):
    """Whether a constant matrix is multiplied from the left."""
    (island,) = islands_of(text, [*fetches.split()], ["x:0"])
    constants = {array.name for array in island.graph.initializer}
    return any(node.op_type == "MatMul" and node.input[0] in constants for node in island.graph.node)
