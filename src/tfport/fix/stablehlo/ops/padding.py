"""Padding around and between elements; a negative number crops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.fix.nodes.sizes import Size
from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import integers, translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Value


@translates("pad")
def pad(op: HloNodes, hlo: HloOp, x: HloTensor, fill: HloTensor) -> HloTensor:
    low, high, interior = (
        integers(hlo.attrs[name]) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return op.tensor(padded(op, x, fill.value, low, high, interior), hlo.types[0].shape)


def padded(
    op: HloNodes, x: HloTensor, fill: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Value:
    """Pad with constant amounts."""
    if any(n and size == 0 for n, size in zip(interior, x.dims, strict=True)):
        interior = [0 if size == 0 else n for n, size in zip(interior, x.dims, strict=True)]
    value = _dilated(op, x, fill, interior) if any(interior) else x.value
    high = [after - inside for after, inside in zip(high, interior, strict=True)]
    more = [[max(0, before), max(0, after)] for before, after in zip(low, high, strict=True)]
    if any(map(any, more)):
        value = op.PadV2(value, op.const(more, INT32), fill).output(0)
    if min([*low, *high, 0]) < 0:
        value = _cropped(op, value, [max(0, -n) for n in low], [max(0, -n) for n in high])
    return value


def _dilated(op: HloNodes, x: HloTensor, fill: Value, interior: Sequence[int]) -> Value:
    """Each element, followed by the padding between it and the next one."""
    sizes = op.dims_of(x)
    apart: list[Size] = []
    pads: list[list[int]] = []
    for size, inside in zip(sizes, interior, strict=True):
        apart += [size, 1] if inside else [size]
        pads += [[0, 0], [0, inside]] if inside else [[0, 0]]
    wide = op.PadV2(op.reshaped(x.value, apart), op.const(pads, INT32), fill)
    joined = [
        op.sizes.mul(size, 1 + inside) if inside else size
        for size, inside in zip(sizes, interior, strict=True)
    ]
    return op.reshaped(wide, joined)


def _cropped(op: HloNodes, value: Value, front: list[int], back: list[int]) -> Value:
    ends = [-n for n in back]
    open_ends = sum(1 << axis for axis, n in enumerate(back) if not n)
    return op.StridedSlice(
        value,
        op.const(front, INT32),
        op.const(ends, INT32),
        op.const([1] * len(front), INT32),
        end_mask=open_ends,
    ).output(0)


@translates("dynamic_pad")
def dynamic_pad(
    op: HloNodes,
    hlo: HloOp,
    x: HloTensor,
    fill: HloTensor,
    low: HloTensor,
    high: HloTensor,
    interior: HloTensor,
) -> HloTensor:
    """Padding by computed amounts; those between elements must be constant."""
    if interior.array is None:
        raise refuse("the padding between elements of stablehlo.dynamic_pad is not constant")
    inside = integers(interior.array)
    if low.array is not None and high.array is not None:
        made = padded(op, x, fill.value, integers(low.array), integers(high.array), inside)
        return op.tensor(made, hlo.types[0].shape)
    value = _dilated(op, x, fill.value, inside) if any(inside) else x.value
    before, after = op.whole_number(low), op.whole_number(high)
    after = op.Sub(after, op.const(inside, INT32)).output(0) if any(inside) else after
    more = op.Pack([op.Maximum(before, 0), op.Maximum(after, 0)], axis=1)
    wide = op.PadV2(value, more, fill.value)
    front, back = (op.Maximum(op.Neg(amount), 0) for amount in (before, after))
    size: Any = op.Sub(op.Sub(op.Shape(wide, out_type=INT32), front), back)
    return op.tensor(op.Slice(wide, front, size), hlo.types[0].shape)


@translates("set_dimension_size")
def set_dimension_size(op: HloNodes, hlo: HloOp, x: HloTensor, size: HloTensor) -> HloTensor:
    """Drop the elements beyond the size."""
    axis = int(hlo.attrs["dimension"])
    if size.array is not None and x.dims[axis] == int(size.array):
        return x
    ends: list[Any] = [op.whole_number(size) if place == axis else -1 for place in range(x.rank)]
    made = op.Slice(x.value, op.const([0] * x.rank, INT32), op.sizes.vector(ends))
    return op.tensor(made, tuple(None if place == axis else n for place, n in enumerate(x.dims)))
