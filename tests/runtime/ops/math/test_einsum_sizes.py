"""Einstein sums with a matrix are products though other sizes are unknown, and answer as TensorFlow does."""

import pytest
from tests.runtime.cases import check, checks, graph_case, numbers
from tests.runtime.programs import islands_of

SUM = """
    w = Placeholder() {{dtype=float32, shape=(?, ?)}}
    x = Placeholder() {{dtype=float32, shape=(?, ?, ?, ?)}}
    y = Einsum({inputs}) {{N=2, T=float32, equation="{equation}"}}
"""
TEXTS = [
    SUM.format(inputs=inputs, equation=equation)
    for inputs, equation in (
        ("w, x", "gb,cgef->bcef"),
        ("w, x", "gb,cgef->cebf"),
        ("x, w", "cgef,gb->bcef"),
        ("w, x", "gb,cefb->gcef"),
    )
]
SIZES = {"w": numbers(3, 2, seed=1), "x": numbers(2, 3, 4, 2)}
CASES = [graph_case(text, fetches="y:0", **SIZES, name=f"sum_{i}") for i, text in enumerate(TEXTS)]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_answers(c, ways):
    check("einsum_sizes", c, ways)


@pytest.mark.parametrize("text", TEXTS)
def test_they_are_products(text):
    (island,) = islands_of(text, ["y:0"], ["w:0", "x:0"])
    ops = [node.op_type for node in island.graph.node]
    assert "MatMul" in ops
    assert "Einsum" not in ops
