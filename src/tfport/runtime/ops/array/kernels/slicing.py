"""Slices, read and assigned: by begin and size, or with strides and masks."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.array.strided_slices import constant_index, index_of
from tfport.runtime.ops.shared.axes import full, sizes_of, zero_of


@host("Slice")
def slice_(input, begin, size):
    if begin.shape != (input.ndim,) or size.shape != (input.ndim,):
        raise RunFailed(
            f"begin and size must have {input.ndim} elements, "
            f"found shapes {list(begin.shape)} and {list(size.shape)}"
        )
    taken = []
    for axis, (first, count, n) in enumerate(zip(begin.tolist(), size.tolist(), input.shape, strict=True)):
        if not 0 <= first <= n:
            raise RunFailed(f"Expected begin[{axis}] in [0, {n}], but got {first}")
        if not -1 <= count <= n - first:
            raise RunFailed(f"Expected size[{axis}] in [0, {n - first}], but got {count}")
        taken.append(slice(first, n if count == -1 else first + count))
    return input[tuple(taken)] if taken else input


@host("StridedSlice")
def strided_slice(
    input, begin, end, strides, *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
):
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return input[(*index_of(input.shape, begin, end, strides, masks), ...)]


@quick(strided_slice)
def constant_slice(groups, attrs):
    """The NumPy index of a slice, prepared once if it is constant."""
    begin, end, strides = (operand.array for operand in groups[1:])
    if begin is None or end is None or strides is None:
        return lambda input, begin, end, strides: _indexed(input, constant_index(begin, end, strides, attrs))
    index = constant_index(begin, end, strides, attrs)
    return None if index is None else lambda input, *bounds: _indexed(input, index)


def _indexed(input, index):
    if index is None:
        return None
    try:
        return input[index]
    except IndexError:
        return None  # the kernel says what is wrong


@host("StridedSliceGrad")
def strided_slice_grad(
    shape, begin, end, strides, dy, *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
):
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    zeros = full(sizes_of(shape), zero_of(dy.dtype), dy.dtype)
    return _with_slice(zeros, index_of(zeros.shape, begin, end, strides, masks), dy, stretch=False)


@host("TensorStridedSliceUpdate")
def tensor_strided_slice_update(
    input, begin, end, strides, value, *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
):
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return _with_slice(input, index_of(input.shape, begin, end, strides, masks), value)


@host("StridedSliceAssign ResourceStridedSliceAssign")
def strided_slice_assign(
    ref,
    begin,
    end,
    strides,
    value,
    *,
    begin_mask,
    end_mask,
    ellipsis_mask,
    new_axis_mask,
    shrink_axis_mask,
    context,
):
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    ref.update(lambda old: _with_slice(old, index_of(old.shape, begin, end, strides, masks), value))
    return ref if context.outputs else None


def _with_slice(old, index, value, *, stretch=True):
    """A copy of `old` with a slice replaced."""
    array = old.copy()
    wanted = array[(*index, ...)].shape
    if value.shape != wanted and not stretch:
        raise RunFailed(f"the value must have shape {list(wanted)}, found {list(value.shape)}")
    array[(*index, ...)] = np.broadcast_to(value, wanted)
    return array
