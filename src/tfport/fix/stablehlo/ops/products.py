"""Products of matrices."""

from __future__ import annotations

from tfport.fix.nodes.shapes import cast
from tfport.fix.stablehlo.declare import integers, translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor, element_type
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.graph import Value


@translates("dot")
def dot(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    return _product(op, hlo, x, y, [], [], [x.rank - 1], [0])


@translates("dot_general")
def dot_general(op: HloNodes, hlo: HloOp, x: HloTensor, y: HloTensor) -> HloTensor:
    names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")
    return _product(op, hlo, x, y, *(integers(hlo.attrs[f"{name}_dimensions"]) for name in names))


def _product(
    op: HloNodes,
    hlo: HloOp,
    x: HloTensor,
    y: HloTensor,
    x_batch: list[int],
    y_batch: list[int],
    x_summed: list[int],
    y_summed: list[int],
) -> HloTensor:
    """The batch axes, then the free axes of each side."""
    out = element_type(hlo.types[0].element)
    left = _Factor(op, x, x_batch, x_summed, computed_in(out))
    right = _Factor(op, y, y_batch, y_summed, computed_in(out))
    if x_batch:
        made = op.BatchMatMul(
            left.matrix, right.matrix, adj_x=left.is_transposed, adj_y=not right.is_transposed
        )
    else:
        made = op.MatMul(
            left.matrix, right.matrix, transpose_a=left.is_transposed, transpose_b=not right.is_transposed
        )
    value = made.output(0)
    sizes = [left.sizes[axis] for axis in x_batch] + left.free_sizes + right.free_sizes
    if len(left.free) != 1 or len(right.free) != 1:
        value = op.reshaped(value, sizes)
    return op.tensor(cast(op, value, out), hlo.types[0].shape)


def computed_in(kind: DType) -> DType:
    """The type of a product: short integers have no kernel."""
    if not kind.is_integer or kind in (INT32, INT64):
        return kind
    return INT64 if kind.numpy.itemsize >= 4 else INT32


class _Factor:
    """One side of a product as a batch of matrices: (free, summed), or transposed."""

    def __init__(self, op: HloNodes, x: HloTensor, batch: list[int], summed: list[int], kind: DType) -> None:
        self.free = [axis for axis in range(x.rank) if axis not in (*batch, *summed)]
        self.sizes = op.dims_of(x)
        self.free_sizes = [self.sizes[axis] for axis in self.free]
        summed_last, free_last = [*batch, *self.free, *summed], [*batch, *summed, *self.free]
        self.is_transposed = free_last == list(range(x.rank)) and summed_last != free_last
        value = op.transposed(cast(op, x.value, kind), free_last if self.is_transposed else summed_last)
        ends = [op.count(self.free_sizes), op.count([self.sizes[axis] for axis in summed])]
        if len(self.free) != 1 or len(summed) != 1:
            outer = [self.sizes[axis] for axis in batch]
            value = op.reshaped(value, [*outer, *(reversed(ends) if self.is_transposed else ends)])
        self.matrix: Value = value
