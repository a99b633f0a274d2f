"""Slices, also from computed starts, updates of slices, and padding around and between elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.building.arrays import reshape
from tfport.graph.building.sizes import Size
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.graph import Value

UNSIGNED_LONG = (DType.parse("uint64"), DType.parse("uint32"))


@translates("slice")
def slice_(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    starts, limits, strides = (
        integers(hlo.attrs[name]) for name in ("start_indices", "limit_indices", "strides")
    )
    if x.scalar is not None and None not in hlo.types[0].shape:
        return op.filled(x.scalar, hlo.types[0].shape)
    is_whole = [
        size == limit - start == limit for size, start, limit in zip(x.dims, starts, limits, strict=True)
    ]
    if all(is_whole) and all(stride == 1 for stride in strides):
        return x
    node = op.StridedSlice(x.value, *(op.const(numbers, INT32) for numbers in (starts, limits, strides)))
    return op.tensor(node, hlo.types[0].shape)


@translates("real_dynamic_slice")
def real_dynamic_slice(
    op: HloNodes, hlo: HloOp, x: HloTensor, starts: HloTensor, limits: HloTensor, strides: HloTensor
) -> HloTensor:
    bounds = (op.whole_number(bound) for bound in (starts, limits, strides))
    return op.tensor(op.StridedSlice(x.value, *bounds), hlo.types[0].shape)


@translates("dynamic_slice")
def dynamic_slice(op: HloNodes, hlo: HloOp, x: HloTensor, *starts: HloTensor) -> HloTensor:
    """A start is clamped so that the slice fits."""
    sizes = integers(hlo.attrs["slice_sizes"])
    if tuple(sizes) == x.dims:
        return x
    first = _starts(op, x, sizes, starts)
    return op.tensor(op.Slice(x.value, first, op.const(sizes, INT32)), tuple(sizes))


@translates("dynamic_update_slice")
def dynamic_update_slice(
    op: HloNodes, hlo: HloOp, x: HloTensor, update: HloTensor, *starts: HloTensor
) -> HloTensor:
    """What is before and behind the update is concatenated with it, axis by axis."""
    if x.dims == update.dims and None not in x.dims:
        return update
    sizes, whole = op.dims_of(update), op.dims_of(x)
    first = [
        0 if x.dims[axis] is not None and x.dims[axis] == update.dims[axis]
        else clamped_start(op, start, whole[axis], sizes[axis])
        for axis, start in enumerate(starts)
    ]  # fmt: skip
    moved = [axis for axis, start in enumerate(first) if start != 0 or x.dims[axis] != update.dims[axis]]
    return op.tensor(_inserted(op, x.value, update.value, first, sizes, moved), x.dims)


def _inserted(
    op: HloNodes, x: Value, update: Value, starts: list[Any], sizes: list[Size], axes: Sequence[int]
) -> Value:
    """`x` with the update at these starts: of the rows that it covers, the inner part is replaced."""
    axis, *rest = axes
    rank = len(sizes)
    if rest:
        here: list[Any] = [starts[axis] if index == axis else 0 for index in range(rank)]
        rows = op.Slice(
            x,
            op.sizes.vector(here),
            op.sizes.vector([sizes[axis] if index == axis else -1 for index in range(rank)]),
        )
        update = _inserted(op, rows.output(0), update, starts, sizes, rest)
    start = starts[axis]
    end = op.sizes.add(start, sizes[axis])
    before = op.Slice(
        x,
        op.const([0] * rank, INT32),
        op.sizes.vector([start if index == axis else -1 for index in range(rank)]),
    )
    behind = op.Slice(
        x,
        op.sizes.vector([end if index == axis else 0 for index in range(rank)]),
        op.const([-1] * rank, INT32),
    )
    return op.ConcatV2([before, update, behind], axis).output(0)


def _starts(op: HloNodes, x: HloTensor, sizes: Sequence[int], starts: Sequence[HloTensor]) -> Any:
    whole = op.dims_of(x)
    return op.sizes.vector(
        [clamped_start(op, start, size, part) for start, size, part in zip(starts, whole, sizes, strict=True)]
    )


def clamped_start(op: HloNodes, start: HloTensor, whole: Size, part: Size) -> Size:
    """The start of a slice, between 0 and the last position where it fits."""
    room = op.sizes.sub(whole, part)
    if start.array is not None and isinstance(room, int):
        return min(max(int(start.array), 0), room)
    if room == 0:
        return 0
    if start.array is not None:
        number: Any = op.const(min(max(int(start.array), 0), 2**31 - 1), INT32)
    else:
        number = index_as_int32(op, start.value)
    return op.Maximum(op.Minimum(number, room), 0)


def index_as_int32(op: HloNodes, index: Value) -> Value:
    """An index as int32; one that does not fit stays out of range."""
    dtype = index.dtype.base
    if dtype == INT64:
        limit = 2**31 - 1
        index = op.Maximum(op.Minimum(index, limit), -limit).output(0)
    elif dtype in UNSIGNED_LONG:
        index = op.Minimum(op.Cast(index, DstT=INT64), 2**31 - 1).output(0)
    return index if index.dtype.base == INT32 else op.Cast(index, DstT=INT32).output(0)


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
    wide = op.PadV2(reshape(op, x, apart), op.const(pads, INT32), fill)
    joined = [
        op.sizes.mul(size, 1 + inside) if inside else size
        for size, inside in zip(sizes, interior, strict=True)
    ]
    return reshape(op, wide, joined).value


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
        raise CannotRun("the padding between elements of stablehlo.dynamic_pad is not constant")
    inside = integers(interior.array)
    if low.array is not None and high.array is not None:
        result = padded(op, x, fill.value, integers(low.array), integers(high.array), inside)
        return op.tensor(result, hlo.types[0].shape)
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
    ends: list[Any] = [op.whole_number(size) if index == axis else -1 for index in range(x.rank)]
    node = op.Slice(x.value, op.const([0] * x.rank, INT32), op.sizes.vector(ends))
    return op.tensor(node, tuple(None if index == axis else n for index, n in enumerate(x.dims)))
