"""Einsum by matrix products: `ab,bc->ac`, with `...` for unnamed axes.

As in TensorFlow: axes that only one factor has are summed first, each factor is reshaped to a
batch of matrices, these are multiplied, and the axes of the product are transposed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import NodeOrValue, first, joined, part, product, rank, size_at
from tfport.fix.rule import ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node
from tfport.startup.dataclass import dataclass

Axes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EinsumFactor:
    """A value, and the names of its axes; the axes of `...` are named `.0`, `.1` from the end."""

    value: NodeOrValue
    axes: Axes


@rule("Einsum", keeps=ROUNDING)
def matrices_multiplied(op: NodeBuilder, n: Node) -> Replacement:
    """Axes are summed, transposed and merged, so that BatchMatMul computes the products of Einsum."""
    factors, out = _read(op, n)
    if len(factors) == 1:
        return first(_ordered(op, _reduced(op, factors[0], out), out))
    left, right = (
        _reduced(op, own, tuple(dict.fromkeys((*out, *other.axes))))
        for own, other in (factors, reversed(factors))
    )
    return first(_ordered(op, _reduced(op, _product(op, left, right, out), out), out))


def _read(op: NodeBuilder, n: Node) -> tuple[list[EinsumFactor], Axes]:
    text = str(n.attrs["equation"]).replace(" ", "")
    inputs, arrow, output = text.partition("->")
    names = inputs.split(",")
    if not arrow or len(names) != len(n.inputs) or len(names) > 2:
        raise refuse(f"its equation is {text}")
    factors = []
    for name, value in zip(names, n.inputs, strict=True):
        unnamed = rank(op, value, "factor") - len(name.replace("...", "")) if "..." in name else 0
        factors.append(EinsumFactor(value, _axes(name, unnamed)))
    most = max(sum(axis[0] == "." for axis in factor.axes) for factor in factors)
    out = _axes(output, most if "..." in output else 0)
    for axes in (*(factor.axes for factor in factors), out):
        if len(set(axes)) < len(axes):
            raise refuse(f"a label is repeated in one term of {text}")
    if lost := set(out) - {axis for factor in factors for axis in factor.axes}:
        raise refuse(f"no factor has the axis {min(lost)}")
    return factors, out


def _axes(name: str, unnamed: int) -> Axes:
    before, dots, after = name.partition("...")
    return (*before, *(f".{place}" for place in reversed(range(unnamed)) if dots), *after)


def _reduced(op: NodeBuilder, factor: EinsumFactor, keep: Axes) -> EinsumFactor:
    """Sum over the axes that are not kept."""
    away = [place for place, axis in enumerate(factor.axes) if axis not in keep]
    if not away:
        return factor
    summed = op.Sum(factor.value, op.const(away, INT32), keep_dims=False)
    return EinsumFactor(summed, tuple(axis for axis in factor.axes if axis in keep))


def _ordered(op: NodeBuilder, factor: EinsumFactor, axes: Sequence[str]) -> NodeOrValue:
    """The factor with its axes in a given order."""
    order = [factor.axes.index(axis) for axis in axes]
    return factor.value if order == sorted(order) else op.Transpose(factor.value, op.const(order, INT32))


def _product(op: NodeBuilder, left: EinsumFactor, right: EinsumFactor, out: Axes) -> EinsumFactor:
    both = [axis for axis in left.axes if axis in right.axes]
    # the axes of `...` are broadcast; an axis that only one factor has is of size one in the other
    batch = sorted({a for a in (*left.axes, *right.axes) if a[0] == "."}, key=lambda a: -int(a[1:]))
    batch += [axis for axis in both if axis in out and axis not in batch]
    common = [axis for axis in both if axis not in batch]
    own = [axis for axis in left.axes if axis not in (*batch, *common)]
    other = [axis for axis in right.axes if axis not in (*batch, *common)]
    a = _matrices(op, left, batch, own, common)
    b = _matrices(op, right, batch, common, other)
    # only the axes of `...` are broadcast: TensorFlow refuses other axes of different sizes
    made = op.BatchMatMulV2(a, b) if any(axis[0] == "." for axis in batch) else op.BatchMatMul(a, b)
    shape = joined(op, part(op, op.Shape(made), stop=-2), *_sizes(op, left, own), *_sizes(op, right, other))
    return EinsumFactor(op.Reshape(made, shape), (*batch, *own, *other))


def _matrices(
    op: NodeBuilder, factor: EinsumFactor, batch: list[str], rows: list[str], columns: list[str]
) -> Node:
    """A factor as a batch of matrices; batch axes that it does not have are of size one."""
    has = [axis for axis in batch if axis in factor.axes]
    value = _ordered(op, factor, [*has, *rows, *columns])
    sizes = [
        size
        for axis in batch
        for size in (_sizes(op, factor, [axis]) if axis in has else [op.const([1], INT32)])
    ]
    sides = [_joined_size(op, factor, axes) for axes in (rows, columns)]
    return op.Reshape(value, joined(op, *sizes, *sides))


def _sizes(op: NodeBuilder, factor: EinsumFactor, axes: Sequence[str]) -> list[NodeOrValue]:
    """The sizes of some axes, each a vector of length 1."""
    places = [factor.axes.index(axis) for axis in axes]
    return [op.Reshape(size_at(op, factor.value, place), op.const([1], INT32)) for place in places]


def _joined_size(op: NodeBuilder, factor: EinsumFactor, axes: list[str]) -> NodeOrValue:
    sizes = _sizes(op, factor, axes)
    if len(sizes) == 1:
        return sizes[0]
    return product(op, joined(op, *sizes)) if sizes else op.const([1], INT32)
