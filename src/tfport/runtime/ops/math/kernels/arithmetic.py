"""Element-wise arithmetic of two or more tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import is_integer, same_shapes
from tfport.runtime.ops.shared.precision import widen


@host("Add AddV2")
def add(x, y):
    return np.add(x, y)


@host("Sub")
def sub(x, y):
    return np.subtract(x, y)


@host("Mul")
def mul(x, y):
    return np.multiply(x, y)


@host("MulNoNan")
def mul_no_nan(x, y):
    return np.where(y == 0, x.dtype.type(0), widen(x) * widen(y))


@host("Maximum")
def maximum(x, y):
    return np.maximum(x, y)


@host("Minimum")
def minimum(x, y):
    return np.minimum(x, y)


@host("SquaredDifference")
def squared_difference(x, y):
    difference = widen(x) - widen(y)
    return difference * np.conj(difference)


@host("Div")
def div(x, y):
    return _truncated(x, y) if is_integer(x) else widen(x) / widen(y)


@host("RealDiv")
def real_div(x, y):
    return widen(x) / widen(y)


@host("TruncateDiv")
def truncate_div(x, y):
    return _truncated(x, y) if is_integer(x) else np.trunc(widen(x) / widen(y))


@host("FloorDiv")
def floor_div(x, y):
    if is_integer(x):
        return np.floor_divide(x, _divisor(y))
    return np.floor(widen(x) / widen(y))


@host("FloorMod")
def floor_mod(x, y):
    if is_integer(x):
        return np.mod(x, _divisor(y))
    x, y = widen(x), widen(y)
    rest = np.fmod(x, y)
    # NumPy's float modulo gives a zero the sign of y, TensorFlow that of x
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@host("Mod TruncateMod")
def truncate_mod(x, y):
    return np.fmod(x, _divisor(y) if is_integer(y) else y)


def _truncated(x: Any, y: Any) -> Any:
    """The integer quotient, rounded toward zero."""
    rest = np.fmod(x, _divisor(y))
    return np.floor_divide(x - rest, y)


def _divisor(y: Any) -> Any:
    if not np.all(y):
        raise RunFailed("integer division by zero")
    return y


@host("DivNoNan")
def div_no_nan(x, y):
    return np.where(y == 0, x.dtype.type(0), widen(x) / widen(y))


@host("Xdivy")
def xdivy(x, y):
    return np.where(x == 0, x.dtype.type(0), widen(x) / widen(y))


@host("Xlogy")
def xlogy(x, y):
    return np.where(x == 0, x.dtype.type(0), widen(x) * np.log(widen(y)))


@host("Xlog1py")
def xlog1py(x, y):
    return np.where(x == 0, x.dtype.type(0), widen(x) * np.log1p(widen(y)))


@host("Pow")
def power(x, y):
    if is_integer(x) and np.any(y < 0):
        raise RunFailed("integers to negative integer powers are not allowed")
    return np.power(widen(x), widen(y))


@host("Atan2")
def atan2(y, x):
    return np.arctan2(widen(y), widen(x))


@host("NextAfter")
def next_after(x1, x2):
    return np.nextafter(x1, x2)


@host("ApproximateEqual")
def approximate_equal(x, y, *, tolerance):
    same_shapes(x, y)
    return np.abs(x - y) < x.dtype.type(tolerance)


@host("ClipByValue")
def clip_by_value(t, clip_value_min, clip_value_max):
    for bound in (clip_value_min, clip_value_max):
        if bound.ndim and bound.shape != t.shape:
            raise RunFailed(
                f"a bound must be a scalar or have the shape of the input, {list(t.shape)}; "
                f"found {list(bound.shape)}"
            )
    # a NaN bound has no effect; a NaN element stays NaN
    low = np.where(clip_value_max < t, clip_value_max, t)
    return np.where(low < clip_value_min, clip_value_min, low)


@host("AddN")
def add_n(inputs):
    return _sum(inputs)


@host("AccumulateNV2")
def accumulate_n(inputs, *, shape):
    return _sum(inputs)


def _sum(inputs: list[Any]) -> Any:
    same_shapes(*inputs)
    total = widen(inputs[0])
    for term in inputs[1:]:
        total = total + widen(term)
    return total
