"""Reductions, ArgMax, ArgMin and cumulative ops."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.math.kernels.elementwise import converted
from tfport.runtime.ops.shared.axes import axes_of, axis_of, is_integer, product
from tfport.runtime.ops.shared.precision import widen


@host("Sum")
def reduce_sum(input, reduction_indices, *, keep_dims):
    x = widen(input)
    return np.add.reduce(x, axes_of(reduction_indices, input.ndim), x.dtype, keepdims=keep_dims)


@host("Prod")
def reduce_prod(input, reduction_indices, *, keep_dims):
    x = widen(input)
    return np.multiply.reduce(x, axes_of(reduction_indices, input.ndim), x.dtype, keepdims=keep_dims)


@quick(reduce_sum)
@quick(reduce_prod)
def only_element(groups, attrs):
    """Of one element, its own value: sizes of vectors are multiplied and compared."""
    rank, axes = groups[0].rank, groups[1].known
    if rank is None or axes is None or len(axes) != rank or attrs["keep_dims"]:
        return None
    if {axis if axis is None or axis >= 0 else axis + rank for axis in axes} != set(range(rank)):
        return None
    return lambda x, axes: x.reshape(()) if x.size == 1 else None


@host("Mean")
def reduce_mean(input, reduction_indices, *, keep_dims):
    axes = axes_of(reduction_indices, input.ndim)
    count = product([input.shape[axis] for axis in axes])
    if is_integer(input):
        total = np.sum(input, axis=axes, keepdims=keep_dims)  # in 64 bits
        return np.sign(total) * (np.abs(total) // total.dtype.type(count)) if count else total
    x = widen(input)
    total = np.sum(x, axis=axes, dtype=x.dtype, keepdims=keep_dims)
    if input.dtype == np.float16:
        total = widen(np.asarray(total, np.float16))  # the mean of a sum that overflows is infinite
    return total / x.dtype.type(count)


@host("Max")
def reduce_max(input, reduction_indices, *, keep_dims):
    axes = axes_of(reduction_indices, input.ndim)
    return np.maximum.reduce(input, axes, keepdims=keep_dims, initial=_lowest(input.dtype))


@host("Min")
def reduce_min(input, reduction_indices, *, keep_dims):
    axes = axes_of(reduction_indices, input.ndim)
    return np.minimum.reduce(input, axes, keepdims=keep_dims, initial=_highest(input.dtype))


@functools.cache
def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(-np.inf)


@functools.cache
def _highest(dtype: Any) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else dtype.type(np.inf)


@host("All")
def reduce_all(input, reduction_indices, *, keep_dims):
    return np.logical_and.reduce(input, axes_of(reduction_indices, input.ndim), keepdims=keep_dims)


@host("Any")
def reduce_any(input, reduction_indices, *, keep_dims):
    return np.logical_or.reduce(input, axes_of(reduction_indices, input.ndim), keepdims=keep_dims)


@host("EuclideanNorm")
def euclidean_norm(input, reduction_indices, *, keep_dims):
    x = widen(input)
    squares = x * np.conj(x)
    total = np.sum(
        squares, axis=axes_of(reduction_indices, input.ndim), dtype=squares.dtype, keepdims=keep_dims
    )
    # integers are squared and summed in their own type and may wrap
    return (
        converted(np.asarray(np.sqrt(total.astype(np.float64))), input.dtype)
        if is_integer(x)
        else np.sqrt(total)
    )


@host("ArgMax")
def arg_max(input, dimension, *, output_type):
    return np.argmax(_comparable(input, -np.inf), axis=_axis_with_elements(input, dimension))


@host("ArgMin")
def arg_min(input, dimension, *, output_type):
    return np.argmin(_comparable(input, np.inf), axis=_axis_with_elements(input, dimension))


def _comparable(x: Any, instead: float) -> Any:
    """NaN is only chosen if there is nothing else."""
    return np.where(np.isnan(x), x.dtype.type(instead), x) if x.dtype.kind in "fV" else x


def _axis_with_elements(x: Any, dimension: Any) -> int:
    axis = axis_of(dimension, x.ndim)
    if not x.shape[axis]:
        raise RunFailed(f"axis {axis} of shape {list(x.shape)} has no elements")
    return axis


@host("Cumsum")
def cumsum(x, axis, *, exclusive, reverse):
    return _scan(np.add, 0, x, axis, exclusive, reverse)


@host("Cumprod")
def cumprod(x, axis, *, exclusive, reverse):
    return _scan(np.multiply, 1, x, axis, exclusive, reverse)


@host("CumulativeLogsumexp")
def cumulative_logsumexp(x, axis, *, exclusive, reverse):
    return _scan(np.logaddexp, -np.inf, x, axis, exclusive, reverse)


def _scan(step: Any, start: float, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    """Accumulate along an axis; `exclusive` leaves out the element itself."""
    if axis.ndim:
        raise RunFailed(f"ScanOp: axis must be a scalar, not {list(axis.shape)}")
    at = int(axis)
    if not -x.ndim <= at < x.ndim:
        raise RunFailed(f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {at}")
    line = widen(x)
    around: tuple[Any, ...] = (slice(None),) * (at % x.ndim)
    if reverse:
        line = line[(*around, slice(None, None, -1))]
    if exclusive:
        first, others = line[(*around, slice(1))], line[(*around, slice(-1))]
        line = np.concatenate([np.full_like(first, start), others], at)
    scanned = step.accumulate(line, axis=at, dtype=line.dtype) if line.size else line
    return scanned[(*around, slice(None, None, -1))] if reverse else scanned
