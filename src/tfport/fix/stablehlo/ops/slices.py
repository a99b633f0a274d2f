"""Slices, also from computed starts, and updates of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.fix.nodes.shapes import cast
from tfport.fix.nodes.sizes import Size
from tfport.fix.stablehlo.declare import integers, translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
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
    made = op.StridedSlice(x.value, *(op.const(numbers, INT32) for numbers in (starts, limits, strides)))
    return op.tensor(made, hlo.types[0].shape)


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
        here: list[Any] = [starts[axis] if place == axis else 0 for place in range(rank)]
        rows = op.Slice(
            x,
            op.sizes.vector(here),
            op.sizes.vector([sizes[axis] if place == axis else -1 for place in range(rank)]),
        )
        update = _inserted(op, rows.output(0), update, starts, sizes, rest)
    start = starts[axis]
    end = op.sizes.add(start, sizes[axis])
    before = op.Slice(
        x,
        op.const([0] * rank, INT32),
        op.sizes.vector([start if place == axis else -1 for place in range(rank)]),
    )
    behind = op.Slice(
        x,
        op.sizes.vector([end if place == axis else 0 for place in range(rank)]),
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
    kind = index.dtype.base
    if kind == INT64:
        limit = 2**31 - 1
        index = op.Maximum(op.Minimum(index, limit), -limit).output(0)
    elif kind in UNSIGNED_LONG:
        index = op.Minimum(cast(op, index, INT64), 2**31 - 1).output(0)
    return cast(op, index, INT32)
