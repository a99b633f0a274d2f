"""Fill, Range, LinSpace and OneHot, lowered to ONNX."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.ops.shared.lowered_sizes import axis_in, select, whole

FEW = 1024
"""A filled tensor of known shape with up to this many elements is a constant."""


@lower("Fill")
def fill(b, dims, value):
    if value.rank != 0:
        raise CannotLower("value is not a scalar")
    sizes = whole(dims)
    if sizes is None:
        return b.Expand(value, b.vector(dims))
    if any(n < 0 for n in sizes):
        raise CannotLower("a size is negative")
    return b.Expand(value, b.ints(*sizes))


@lower("ZerosLike")
def zeros_like(b, x):
    return _like(b, x, 0)


@lower("OnesLike")
def ones_like(b, x):
    return _like(b, x, 1)


def _like(b, x, value):
    if x.dtype.numpy.kind not in "biufV":
        raise CannotLower("ONNX has no such type")
    if x.shape is not None and None not in x.shape and np.prod(x.shape) <= FEW:
        return b.const(np.full(x.shape, value), x.dtype)
    filled = b.Expand(b.const(value, x.dtype), b.Shape(x))
    filled.shape = x.shape
    return filled


@lower("Range")
def range_(b, start, limit, delta):
    """A range whose reshape fails if `delta` leads away from the limit.

    ONNX returns nothing then, TensorFlow an error; the count from the absolute difference does not match.
    """
    if any(number.rank != 0 for number in (start, limit, delta)):
        raise CannotLower("the inputs must be scalars")
    step = constant_of(delta, "delta")[()]
    if step == 0:
        raise CannotLower("delta is zero")
    away = b.Sub(limit, start)
    if start.dtype.is_integer:
        counted = b.Range(start, limit, delta)
        wide = b.const(abs(int(step)), start.dtype)
        most = b.const(abs(int(step)) - 1, start.dtype)
        count = b.Abs(away) if abs(step) == 1 else b.Div(b.Add(b.Abs(away), most), wide)
        return b.Reshape(counted, b.vector(count), allowzero=1)
    steps = b.Div(away, delta)
    up = b.cast(b.Ceil(steps), INT64)
    counted = b.Range(b.const(0, INT64), up, b.const(1, INT64))
    count = b.vector(b.cast(b.Ceil(b.Abs(steps)), INT64))
    along = b.cast(b.Reshape(counted, count, allowzero=1), start.dtype)
    return b.Add(start, b.Mul(along, delta))


@lower("LinSpace")
def lin_space(b, start, stop, num):
    count = int(constant_of(num, "num").reshape(()))
    if count < 1:
        raise CannotLower("num is not positive")
    if count == 1:
        return b.reshape(start, 1)
    dtype = start.dtype
    step = b.Div(b.Sub(stop, start), b.const(count - 1, dtype))
    ahead = b.Add(start, b.Mul(step, b.const(np.arange(count - 1), dtype)))
    return b.Concat(ahead, b.reshape(stop, 1), axis=0)


@lower("OneHot")
def one_hot(b, indices, depth, on_value, off_value, *, axis):
    """By comparison, since ONNX's OneHot counts negative indices from the end and TensorFlow does not."""
    rank = rank_of(indices, "indices")
    at = rank if axis == -1 else axis_in(axis, rank + 1)
    size = whole(depth)
    if size is not None and size[0] < 0:
        raise CannotLower("depth is negative")
    if size is not None:
        numbers = b.const(np.arange(size[0]).reshape([-1 if i == at else 1 for i in range(rank + 1)]), INT64)
    else:
        # for a negative depth the range is empty, and the reshape to its absolute value fails
        counted = b.Range(b.const(0, INT64), b.reshape(b.int64(depth)), b.const(1, INT64))
        numbers = b.Reshape(counted, b.Abs(b.vector(depth)), allowzero=1)
        others = [i for i in range(rank + 1) if i != at]
        numbers = b.unsqueeze(numbers, *others) if others else numbers
    hot = b.Equal(b.unsqueeze(b.int64(indices), at), numbers)
    if _is(on_value, 1) and _is(off_value, 0):
        return b.cast(hot, on_value.dtype)
    return select(b, hot, on_value, off_value)


def _is(operand, number):
    return operand.array is not None and operand.array.dtype.kind in "biufV" and operand.array == number
