"""XLA ops as plain ops that every device runs."""

from __future__ import annotations

import functools
from typing import Any

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import Size, Sizes
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.xla.dimension_numbers import DOT, dimension_numbers


@rule("XlaSharding", keeps=EXACT)
def on_one_device(op: RuleBuilder, n: Node) -> Replacement:
    """Sharding over devices changes nothing on one device."""
    return op.Identity(n.inputs[0])


@rule("XlaOptimizationBarrier", keeps=EXACT)
def without_barrier(op: RuleBuilder, n: Node) -> Replacement:
    """An optimization barrier does not change values."""
    return op.IdentityN(list(n.inputs))


@rule("XlaLaunch", keeps=EXACT)
def as_call(op: RuleBuilder, n: Node) -> Replacement:
    """A compiled function has the same results when it is called."""
    types = [value.dtype.base for value in n.inputs]
    return op.StatefulPartitionedCall(
        list(n.inputs), Tin=types, Tout=n.attrs["Tresults"], f=n.attrs["function"]
    )


@rule("XlaIf", keeps=EXACT)
def as_if(op: RuleBuilder, n: Node) -> Replacement:
    """If calls the same functions."""
    return op.If(n.inputs[0], list(n.inputs[1:]), **n.attrs)


@rule("XlaWhile", keeps=EXACT)
def as_while(op: RuleBuilder, n: Node) -> Replacement:
    """While calls the same functions."""
    return op.While(list(n.inputs), **n.attrs)


@rule("XlaEinsum", keeps=EXACT)
def as_einsum(op: RuleBuilder, n: Node) -> Replacement:
    """Einsum computes the same sums of products."""
    return op.Einsum(list(n.inputs), equation=n.attrs["equation"])


@rule("XlaPad", keeps=EXACT)
def as_pad(op: RuleBuilder, n: Node) -> Replacement:
    """Padding without interior padding is PadV2."""
    image, value, *amounts = n.inputs
    known = [op.array(array) for array in amounts]
    if any(array is None for array in known):
        return refuse("its paddings are not constant")
    low, high, inside = (array.tolist() for array in known if array is not None)
    if any(inside):
        return refuse(f"it pads between elements (padding_interior={inside})")
    if min([*low, *high, 0]) < 0:
        return refuse(f"it crops (padding_low={low}, padding_high={high})")
    return op.PadV2(image, [list(pair) for pair in zip(low, high, strict=True)], value)


@rule("XlaDynamicSlice", keeps=EXACT)
def as_slice(op: RuleBuilder, n: Node) -> Replacement:
    """The start of the slice is clamped so that it lies inside the tensor."""
    image, begin, size = n.inputs
    return op.Slice(image, _inside(op, image, begin, size), size)


@rule("XlaDynamicUpdateSlice", keeps=EXACT)
def as_choice(op: RuleBuilder, n: Node) -> Replacement:
    """The update is padded to the whole shape, and selected at its position; other elements are unchanged."""
    image, update, begin = n.inputs
    dtype = begin.dtype.base
    size, whole = op.Shape(update, out_type=dtype), op.Shape(image, out_type=dtype)
    before = _inside(op, image, begin, size.output(0))
    after = op.Sub(op.Sub(whole, before), size)
    margins = op.Pack([before, after], axis=1)
    is_updated = op.Pad(op.Fill(size, op.const(True)), margins)
    return op.Select(is_updated, op.Pad(update, margins), image)


def _inside(op: RuleBuilder, image: Value, begin: Value, size: Value) -> Any:
    room = op.Sub(op.Shape(image, out_type=begin.dtype.base), size)
    return op.Maximum(op.Minimum(begin, room), 0)


@rule("XlaDot XlaDotV2", keeps=ROUNDING)
def as_batch_matmul(op: RuleBuilder, n: Node) -> Replacement:
    """The factors are transposed and reshaped to matrices, and multiplied."""
    dtype = n.attrs.get("preferred_element_type", n.attrs.get("T"))
    if any(value.dtype.base != dtype for value in n.inputs):
        return refuse("the factors and the product have different dtypes")
    named = dimension_numbers(n.attrs["dimension_numbers"], DOT)
    batch = len(named["lhs_batch"])
    left, rows, a = _matrix(op, n.inputs[0], named["lhs_batch"], named["lhs_contract"], last=True)
    right, columns, _ = _matrix(op, n.inputs[1], named["rhs_batch"], named["rhs_contract"], last=False)
    return op.Reshape(op.BatchMatMulV2(left, right), Sizes(op).vector([*a[:batch], *rows, *columns]))


def _matrix(
    op: RuleBuilder, value: Value, batch: list[int], summed: list[int], *, last: bool
) -> tuple[Any, list[Size], list[Size]]:
    """A factor as a batch of matrices; the sizes of its free axes, and all sizes in the new order."""
    sizes = Sizes(op)
    dims = sizes.of(value)
    free = [index for index in range(len(dims)) if index not in (*batch, *summed)]
    order = [*batch, *free, *summed] if last else [*batch, *summed, *free]
    kept = [dims[index] for index in free]
    ends = [_product(sizes, kept), _product(sizes, [dims[index] for index in summed])]
    shape = [*(dims[index] for index in batch), *(ends if last else reversed(ends))]
    matrices = op.Reshape(op.Transpose(value, order), sizes.vector(shape))
    known = [size if isinstance(size, int) else None for size in shape]
    return op.tensor(matrices, known), kept, [dims[index] for index in order]


def _product(sizes: Sizes, several: list[Size]) -> Size:
    size: Size = 1
    return functools.reduce(sizes.mul, several, size)
