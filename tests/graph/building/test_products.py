"""Sums of products over named axes: their shapes, the ops that compute them, equations that make no sense."""

import pytest
from tests.recorded_models import graph

from tfport.graph.building.node_builder import NodeBuilder, Refusal
from tfport.graph.building.products import einsum

SIZES = ("Const", "Shape", "StridedSlice")


def built(equation, *shapes):
    """The shape of a product, and the ops that compute it, without those for constants and sizes."""
    lines = [f"x{i} = Placeholder() {{dtype=float32, shape={shape}}}" for i, shape in enumerate(shapes)]
    nodes = graph("\n".join(lines))
    b = NodeBuilder(nodes, "new")
    result = einsum(b, equation, *(nodes[f"x{i}"].output(0) for i in range(len(shapes))))
    return b.shape(result), " ".join(node.op for node in b.added if node.op not in SIZES)


CASES = [
    ("ab,bc->ac", ["(?, 2)", "(2, 3)"], (None, 3), "MatMul"),
    ("ab,cb->ac", ["(?, 2)", "(3, 2)"], (None, 3), "MatMul"),  # transpose_b
    ("ab,bc->ca", ["(?, 2)", "(2, 3)"], (3, None), "MatMul Transpose"),
    ("abc,acd->abd", ["(5, 2, 3)", "(5, 3, 4)"], (5, 2, 4), "BatchMatMul"),
    ("abd,bc->ac", ["(5, 2, 3)", "(2, 4)"], (5, 4), "Sum MatMul"),
    ("abc,cd->abd", ["(5, 2, 3)", "(3, 4)"], (5, 2, 4), "Reshape MatMul Reshape"),
    ("...ab,...bc->...ac", ["(1, 2, 3)", "(7, 3, 4)"], (7, 2, 4), "BatchMatMulV2"),
    ("abc->ca", ["(5, 2, 3)"], (3, 5), "Sum Transpose"),
]


@pytest.mark.parametrize(("equation", "shapes", "dims", "ops"), CASES)
def test_products_of_matrices(equation, shapes, dims, ops):
    assert built(equation, *shapes) == (dims, ops)


@pytest.mark.parametrize(
    ("equation", "shapes", "why"),
    [
        ("ab,bc", ["(1, 2)", "(2, 3)"], "its equation is ab,bc"),
        ("aa->a", ["(2, 2)"], "a label is repeated in one term of aa->a"),
        ("ab->abc", ["(2, 2)"], "no factor has the axis c"),
        ("abc->a", ["(2, 2)"], "does not fit tensors of the ranks"),
    ],
)
def test_equations_that_make_no_sense_are_refused(equation, shapes, why):
    with pytest.raises(Refusal, match=why):
        built(equation, *shapes)
