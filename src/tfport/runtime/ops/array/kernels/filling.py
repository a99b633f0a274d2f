"""Fill, Range, LinSpace and OneHot."""

from __future__ import annotations

import math

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import full, sizes_of, zero_of
from tfport.runtime.ops.shared.precision import wide_type

MODERATE = 1 << 51
"""NumPy divides to count the elements of a range, which is exact for integers below this."""


@host("Fill")
def fill(dims, value):
    if value.ndim:
        raise RunFailed(f"value must be a scalar, found shape {list(value.shape)}")
    return full(sizes_of(dims), value[()], value.dtype)


@host("ZerosLike")
def zeros_like(x):
    return full(x.shape, zero_of(x.dtype), x.dtype)


@host("OnesLike")
def ones_like(x):
    return np.ones(x.shape, x.dtype)


@host("Empty")
def empty(shape, *, dtype, init):
    """Zeros, where TensorFlow leaves elements undefined."""
    return full(sizes_of(shape), zero_of(dtype.numpy), dtype.numpy)


@host("Range")
def range_(start, limit, delta):
    dtype = start.dtype
    if any(number.ndim for number in (start, limit, delta)):
        raise RunFailed(
            "start, limit and delta must be scalars, "
            f"found shapes {[list(number.shape) for number in (start, limit, delta)]}"
        )
    if delta == 0:
        raise RunFailed("delta must not be 0")
    if (start > limit) if delta > 0 else (start < limit):
        raise RunFailed(f"delta {delta} leads from {start} away from limit {limit}")
    if dtype.kind in "iu":
        first, end, step = start.item(), limit.item(), delta.item()
        if -MODERATE < first < MODERATE and -MODERATE < end < MODERATE:
            return np.arange(first, end, step, dtype=dtype)
        return np.array(range(first, end, step), dtype)
    count = np.ceil(np.abs((limit - start) / delta))
    if not np.isfinite(count):
        raise RunFailed(f"a range from {start} to {limit} by {delta} is infinite")
    wide = wide_type(dtype)
    return (start.astype(wide) + np.arange(int(count)).astype(wide) * delta.astype(wide)).astype(dtype)


@host("LinSpace")
def lin_space(start, stop, num):
    if num <= 0:
        raise RunFailed(f"num must be positive, found {num}")
    count = int(num)
    numbers = np.empty(count, start.dtype)
    if count > 1:
        wide = wide_type(start.dtype)
        step = (stop.astype(wide) - start.astype(wide)) / wide.type(count - 1)
        numbers[:] = start.astype(wide) + step * np.arange(count).astype(wide)
        numbers[-1] = stop
    else:
        numbers[0] = start
    return numbers


@host("OneHot")
def one_hot(indices, depth, on_value, off_value, *, axis):
    """An index outside of [0, depth) gives off_value everywhere."""
    size = int(depth.reshape(()))
    if size < 0:
        raise RunFailed(f"depth must not be negative, found {size}")
    if not -1 <= axis <= indices.ndim:
        raise RunFailed(f"axis {axis} is not in [-1, {indices.ndim}]")
    at = indices.ndim if axis == -1 else axis
    shape = [1] * (indices.ndim + 1)
    shape[at] = size
    hot = np.expand_dims(indices, at).astype(np.int64) == np.arange(size).reshape(shape)
    if math.prod(hot.shape) == 0:
        return np.empty(hot.shape, on_value.dtype)
    return np.where(hot, on_value, off_value)
