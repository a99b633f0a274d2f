"""Dense layers: products with a matrix, without reshapes around them and with their bias.

Keras writes a dense layer over the last axis as rows: reshape, multiply, reshape back. The engine multiplies
tensors of any rank by a matrix, so the reshapes and the computation of their sizes are removed, if the
leading sizes are known to be the same. ONNX Runtime adds a bias to a MatMul, and not to a Gemm, which a
product with a transposed matrix is.
"""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.operand import Dims
from tfport.runtime.passes.drawn_pattern import Match, draw
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode


def _keeps_rows(match: Match) -> bool:
    """Whether both reshapes only join the leading axes and take them apart again."""
    x, weights, after = match.x, match.weights, match.output.shape
    if not x.shape or weights.shape is None or len(weights.shape) != 2 or not after:
        return False
    inner, outer = weights.shape
    is_same = x.shape[-1] is not None and x.shape[-1] == inner == _columns(match) and after[-1] == outer
    return is_same and _are_same_rows(x.shape[:-1], after[:-1])


def _columns(match: Match) -> int | None:
    """The columns of the rows that are multiplied."""
    wanted, shape = match.sizes.known, match.rows.shape
    if wanted is not None and len(wanted) == 2:
        return wanted[1]
    return shape[1] if shape is not None and len(shape) == 2 else None


def _are_same_rows(before: Dims, after: Dims) -> bool:
    """Whether two shapes with the same product are equal: at most one size is unknown, at the same index."""
    return before == after and before.count(None) <= 1 and 0 not in before


DENSE = draw(
    lambda op, x, weights, sizes, shape: op.Reshape(
        op.MatMul(op.Reshape(x, sizes).named("rows"), weights), shape
    ),
    accepts=_keeps_rows,
)
GEMM_WITH_BIAS = draw(
    lambda op, x, weights, bias: op.Gemm(x, weights).named("product") + bias, constants="bias"
)


@island_pass()
def dense_layers(graph: IslandGraph) -> None:
    """A product between reshapes to rows and back is a product of the tensor."""
    for match in graph.match(DENSE):
        match.replace("MatMul", match.x, match.weights)


@island_pass()
def gemm_bias(graph: IslandGraph) -> None:
    """A Gemm that nothing else reads and the constant row that is added to it are one Gemm."""
    for match in graph.match(GEMM_WITH_BIAS):
        total, bias = match.product, match.bias
        product, columns = graph.producer(total), total.shape[-1] if total.shape is not None else None
        if columns is None or bias.shape not in ((columns,), (1, columns)) or match.output.dtype != FLOAT32:
            continue
        if product is not None and graph.uses(total) == 1:
            inputs = (*product.inputs, bias)
            graph.replace(match.node, OnnxNode("Gemm", inputs, match.node.outputs, product.attrs))
