"""Sums of products over named axes (`ab,bc->ac`, with `...` for unnamed ones), by products of matrices.

As in TensorFlow, which has an op for them only since 2.1, axes that only one factor has are summed first,
each factor is reshaped to a batch of matrices, these are multiplied, and the axes of the product transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from tfport.graph.building.arrays import reshape, transpose
from tfport.graph.building.node_builder import NodeBuilder, T
from tfport.graph.building.sizes import Size, Sizes, sizes

Axes = Sequence[str]
"""The names of the axes of a tensor."""


def einsum(b: NodeBuilder[T], equation: str, *factors: T) -> T:
    """The sum of products of one or two tensors; each letter of the equation is an axis."""
    shapes = [b.shape(x) for x in factors]
    axes, out = einsum_axes(b, equation, [None if dims is None else len(dims) for dims in shapes])
    if len(factors) == 1:
        value, kept = summed(b, factors[0], axes[0], out)
        return transpose(b, value, [kept.index(axis) for axis in out])
    # only the axes of `...` are broadcast: TensorFlow refuses other axes of different sizes
    unnamed = [axis for axis in out if axis[0] == "."]
    return contract(b, factors[0], factors[1], axes[0], axes[1], out, broadcast=unnamed)


def einsum_axes(
    b: NodeBuilder[T], equation: str, ranks: Sequence[int | None]
) -> tuple[list[list[str]], list[str]]:
    """The axes of each factor and of the result; those of `...` are named `.0`, `.1` from the end."""
    equation = equation.replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != len(ranks) or len(terms) > 2:
        raise b.refuse(f"its equation is {equation}")
    factors = []
    for term, rank in zip(terms, ranks, strict=True):
        if rank is None and "..." in term:
            raise b.refuse("the rank of its factor is unknown")
        factors.append(_axes(term, (rank or 0) - len(term.replace("...", ""))))
        if rank not in (None, len(factors[-1])):
            raise b.refuse(f"the equation `{equation}` does not fit tensors of the ranks {ranks}")
    out = _axes(output, max(sum(axis[0] == "." for axis in axes) for axes in factors))
    for axes in (*factors, out):
        if len(set(axes)) < len(axes):
            raise b.refuse(f"a label is repeated in one term of {equation}")
    if lost := set(out) - {axis for axes in factors for axis in axes}:
        raise b.refuse(f"no factor has the axis {min(lost)}")
    return factors, out


def _axes(term: str, unnamed: int) -> list[str]:
    before, dots, after = term.partition("...")
    return [*before, *(f".{index}" for index in reversed(range(unnamed)) if dots), *after]


def contract(
    b: NodeBuilder[T], x: T, y: T, x_axes: Axes, y_axes: Axes, out: Axes, *, broadcast: Axes = ()
) -> T:
    """The sum of products over the axes that the result does not have.

    Both factors have the same size along an axis of the same name; along those of `broadcast`, one may be 1.
    """
    x, x_axes = summed(b, x, x_axes, (*y_axes, *out))
    y, y_axes = summed(b, y, y_axes, (*x_axes, *out))
    both = [axis for axis in x_axes if axis in y_axes]
    batch, common = [axis for axis in both if axis in out], [axis for axis in both if axis not in out]
    rows, columns = ([axis for axis in axes if axis not in both] for axes in (x_axes, y_axes))
    left = _Matrices(b, x, x_axes, batch, rows, common)
    right = _Matrices(b, y, y_axes, batch, common, columns)
    is_broadcast = any(axis in broadcast for axis in batch)
    op = "BatchMatMulV2" if is_broadcast else "BatchMatMul" if batch else "MatMul"
    flags = zip(("adj_x", "adj_y") if batch else ("transpose_a", "transpose_b"), (left, right), strict=True)
    attrs = {name: True for name, factor in flags if factor.is_transposed}
    product = b.result(op, left.tensor, right.tensor, **attrs)
    order = [*batch, *rows, *columns]
    if len(rows) != 1 or len(columns) != 1:
        size = {**right.sizes, **left.sizes}
        size |= {axis: right.sizes[axis] for axis in batch if left.sizes[axis] == 1}
        if is_broadcast:
            size |= zip(batch, sizes(b, product, len(batch) + 2), strict=False)
        product = reshape(b, product, [size[axis] for axis in order])
    return transpose(b, product, [order.index(axis) for axis in out])


def summed(b: NodeBuilder[T], x: T, axes: Axes, kept: Axes) -> tuple[T, Axes]:
    """The sum over the axes that are not kept, and the names of the others."""
    away = [index for index, axis in enumerate(axes) if axis not in kept]
    if not away:
        return x, axes
    return b.result("Sum", x, away, keep_dims=False), [axis for axis in axes if axis in kept]


class _Matrices(Generic[T]):
    """A factor as a batch of matrices, or of transposed ones if its axes are in that order."""

    def __init__(self, b: NodeBuilder[T], x: T, axes: Axes, batch: Axes, rows: Axes, columns: Axes) -> None:
        self.sizes: dict[str, Size] = dict(zip(axes, sizes(b, x, len(axes)), strict=True))
        is_other = [*batch, *columns, *rows] == list(axes) != [*batch, *rows, *columns]
        # BatchMatMul transposes a matrix with its conjugate
        self.is_transposed = is_other and not (batch and b.value(x).dtype.is_complex)
        if self.is_transposed:
            rows, columns = columns, rows
        x = transpose(b, x, [axes.index(axis) for axis in (*batch, *rows, *columns)])
        if len(rows) != 1 or len(columns) != 1:
            ends = [Sizes(b).product([self.sizes[axis] for axis in side]) for side in (rows, columns)]
            x = reshape(b, x, [*(self.sizes[axis] for axis in batch), *ends])
        self.tensor = x
