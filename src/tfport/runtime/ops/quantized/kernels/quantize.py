"""Conversion of floats to quantized types and back, and between the ranges of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.quantized.ranges import (
    check_range,
    from_float,
    from_float_fast,
    limits,
    round_away,
    scalar,
    scalars,
    to_float,
    to_float_fast,
)

_ROUND: dict[str, Callable[[Any], Any]] = {"HALF_AWAY_FROM_ZERO": round_away, "HALF_TO_EVEN": np.rint}
_HUGE = np.float32(np.finfo(np.float32).max)


def _along(axis: int, x: Any, *ranges: Any) -> list[Any]:
    """Reshape ranges to broadcast along an axis; scalars if there is none."""
    if axis == -1:
        return [scalar(r) for r in ranges]
    if not 0 <= axis < x.ndim:
        raise RunFailed(f"axis {axis} is out of range for rank {x.ndim}")
    for r in ranges:
        if r.shape != (x.shape[axis],):
            raise RunFailed(f"expected {x.shape[axis]} ranges, found shape {list(r.shape)}")
    return [r.astype(np.float32).reshape(-1, *[1] * (x.ndim - axis - 1)) for r in ranges]


@host("QuantizeV2")
def quantize_v2(
    input, min_range, max_range, *, T, mode, round_mode, narrow_range, axis, ensure_minimum_range
):
    dtype = T.numpy
    low, high = _along(axis, input, min_range, max_range)
    if np.any(low > high):
        raise RunFailed("max_range must be at least min_range")
    low = np.minimum(np.float32(0), low)
    room = np.maximum(np.float32(1), np.maximum(np.abs(min_like(axis, min_range, low)), np.abs(high)))
    high = np.maximum(np.float32(0), np.maximum(high, low + room * np.float32(ensure_minimum_range)))
    lowest, highest = limits(dtype)
    if mode == "MIN_FIRST":
        if axis != -1:
            raise RunFailed(f"mode MIN_FIRST does not support an axis, found {axis}")
        if dtype == np.uint8:
            whole = np.rint((input - low) * (np.float32(255) / (high - low)))
        else:
            whole = from_float_fast(input, low, high, dtype)
    elif mode == "MIN_COMBINED":
        scale = np.float32(highest - lowest) / (high - low)
        moved = (np.clip(input, low, high) - low) * scale
        half = np.float32((highest - lowest + 1) // 2) if lowest else np.float32(0)
        whole = round_away(moved - half) if lowest else np.floor(moved + np.float32(0.5))
    elif round_mode == "HALF_TO_EVEN" and axis == -1 and not narrow_range:
        high = np.maximum(np.abs(low), np.abs(high))  # oneDNN's kernel, with a range around zero
        low = -high if lowest else np.float32(0)
        whole = np.rint(input * (np.float32(highest - lowest) / (high - low)))
    else:
        lowest += narrow_range
        from_low = np.where(lowest * low > 0, np.float32(lowest) / low, _HUGE)
        from_high = np.where(highest * high > 0, np.float32(highest) / high, _HUGE)
        scale = np.minimum(from_low, from_high).astype(np.float32)
        low, high = np.float32(lowest) / scale, np.float32(highest) / scale
        whole = _ROUND[round_mode](np.clip(input, low, high) * scale)
    whole = np.clip(np.nan_to_num(np.asarray(whole, np.float64)), *limits(dtype)).astype(dtype)
    return whole, *(np.reshape(end, () if axis == -1 else -1).astype(np.float32) for end in (low, high))


def min_like(axis: int, min_range: Any, low: Any) -> Any:
    """The original lower ends, in the shape of `low`."""
    return scalar(min_range) if axis == -1 else min_range.astype(np.float32).reshape(low.shape)


@host("Dequantize")
def dequantize(input, min_range, max_range, *, mode, narrow_range, axis, dtype):
    quantized = input.dtype
    low, high = _along(axis, input, min_range, max_range)
    lowest, highest = limits(quantized)
    if mode == "MIN_FIRST":
        if axis != -1 or dtype.name != "float32":
            raise RunFailed(
                "mode MIN_FIRST supports only float32 outputs without an axis, "
                f"found {dtype.name} with axis={axis}"
            )
        return to_float_fast(input, low, high, quantized)
    x = input.astype(np.float32)
    if mode == "MIN_COMBINED":
        scale = (high - low) / np.float32(float(highest) - float(lowest))
        half = np.float32((float(highest) - float(lowest) + 1) / 2) if lowest else np.float32(0)
        return (x + half) * scale + low
    scale = high / np.float32(highest)
    if lowest or (narrow_range and quantized == np.uint8):
        scale = np.maximum(low / np.float32(lowest + narrow_range), scale)
    return x * scale


def range_of_steps(signed: bool, bits: int, narrow: bool, low: Any, high: Any) -> tuple[Any, Any, Any, Any]:
    """Move the range so that zero is a step; also steps per unit, and units per step."""
    lowest = (-(1 << bits - 1) + narrow) if signed else 0
    highest = (1 << bits - 1) - 1 if signed else (1 << bits) - 1
    dtype = low.dtype
    huge = dtype.type(ml_dtypes.finfo(dtype).max)
    with np.errstate(all="ignore"):
        from_low = np.where(lowest * low > 0, dtype.type(lowest) / low, huge)
        from_high = np.where(highest * high > 0, dtype.type(highest) / high, huge)
    by_low = from_low < from_high
    scale = np.where(by_low, from_low, from_high).astype(dtype)
    back = np.where(by_low, low / dtype.type(lowest or 1), high / dtype.type(highest)).astype(dtype)
    return (
        np.where(by_low, low, dtype.type(lowest) * back),
        np.where(by_low, dtype.type(highest) * back, high),
        scale,
        back,
    )


def _round_trip(
    x: Any,
    low: Any,
    high: Any,
    *,
    signed: bool,
    bits: int,
    fixed_range: bool,
    round_mode: str = "HALF_TO_EVEN",
    narrow: bool = False,
    axis: int = -1,
) -> Any:
    if not 1 <= bits <= 63:
        raise RunFailed(f"num_bits {bits} is out of range")
    if axis < -1 or axis >= x.ndim:
        raise RunFailed(f"axis {axis} is out of range for rank {x.ndim}")
    if not x.size:
        return x
    others = None if axis == -1 else tuple(i for i in range(x.ndim) if i != axis)
    if not fixed_range:
        low, high = x.min(others), x.max(others)
    shape = () if axis == -1 else (-1, *[1] * (x.ndim - axis - 1))
    low, high = np.reshape(low, shape).astype(x.dtype), np.reshape(high, shape).astype(x.dtype)
    if fixed_range and np.any(low > high):
        raise RunFailed("input_min must not exceed input_max")
    low, high, scale, back = range_of_steps(signed, bits, narrow, low, high)
    kept = np.clip(x, low, high) if fixed_range else x
    scaled = kept * scale
    whole = np.rint(scaled) if round_mode == "HALF_TO_EVEN" else np.floor(scaled + x.dtype.type(0.5))
    return (whole * back).astype(x.dtype)


@host("QuantizeAndDequantize")
def quantize_and_dequantize(input, *, signed_input, num_bits, range_given, input_min, input_max):
    low, high = np.array(input_min), np.array(input_max)
    return _round_trip(input, low, high, signed=signed_input, bits=num_bits, fixed_range=range_given)


@host("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4")
def quantize_and_dequantize_v2(
    input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, axis
):
    return _round_trip(
        input,
        input_min,
        input_max,
        signed=signed_input,
        bits=num_bits,
        fixed_range=range_given,
        round_mode=round_mode,
        narrow=narrow_range,
        axis=axis,
    )


@host("QuantizeAndDequantizeV3")
def quantize_and_dequantize_v3(
    input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range, axis
):
    return _round_trip(
        input,
        input_min,
        input_max,
        signed=signed_input,
        bits=int(num_bits),
        fixed_range=range_given,
        narrow=narrow_range,
        axis=axis,
    )


# Requantization to a requested range, or to the range of the values


@host("RequantizationRange")
def requantization_range(input, input_min, input_max):
    return _actual_range(input, *scalars(input_min, input_max))


def _actual_range(q: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The range of the values, extended to zero at the lower end."""
    check_range(low, high)
    least, most = (q.min(), q.max()) if q.size else limits(q.dtype)[::-1]
    return min(np.float32(0), to_float(least, low, high, q.dtype)), to_float(most, low, high, q.dtype)


@host("Requantize")
def requantize(input, input_min, input_max, requested_output_min, requested_output_max, *, out_type):
    low, high = scalars(input_min, input_max)
    new_low, new_high = scalars(requested_output_min, requested_output_max)
    if new_low > 0:
        raise RunFailed(f"requested_output_min must be at most 0, found {new_low}")
    if new_high < new_low:
        raise RunFailed(
            f"requested_output_max must be at least requested_output_min, found {new_high} and {new_low}"
        )
    return _narrowed(input, low, high, new_low, new_high, out_type.numpy), new_low, new_high


@host("QuantizeDownAndShrinkRange")
def quantize_down_and_shrink_range(input, input_min, input_max, *, out_type):
    low, high = scalars(input_min, input_max)
    new_low, new_high = _actual_range(input, low, high)
    return _narrowed(input, low, high, new_low, new_high, out_type.numpy), new_low, new_high


def _narrowed(q: Any, low: Any, high: Any, new_low: Any, new_high: Any, dtype: Any) -> Any:
    """Convert integers to another range; from 32 to 8 bits in fixed point with 16 fractional bits."""
    if q.dtype != np.int32 or dtype != np.uint8:
        return from_float(to_float(q, low, high, q.dtype), new_low, new_high, dtype)
    span, wanted = np.float32(high - low), np.float32(new_high - new_low)
    if wanted == 0:
        return np.zeros(q.shape, dtype)
    unit = 1 << 16
    scale = int(255.0 * unit * float(span) / float(wanted))
    middle = int(
        float(np.float32((float(low) + float(high)) / 2.0)) * float(np.float32(255.0 / float(wanted))) * unit
    )
    bottom = int(unit * (float(new_low) * 255.0) / float(wanted))
    fixed = (q.astype(np.int64) * scale >> 32) + (middle - bottom + (unit >> 1))
    return np.clip(fixed >> 16, 0, 255).astype(dtype)


@host("RequantizationRangePerChannel")
def requantization_range_per_channel(input, input_min, input_max, *, clip_value_max):
    axes = tuple(range(input.ndim - 1))
    wide = input.astype(np.int64)
    most = np.maximum(np.abs(wide.min(axes)), np.abs(wide.max(axes))).astype(np.float32)
    steps = np.maximum(np.abs(input_min), np.abs(input_max)) / np.float32(1 << 31)
    high = min(np.float32((most * steps).max()), np.float32(clip_value_max))
    return (np.float32(0) if wide.min() >= 0 else -high), high


@host("RequantizePerChannel")
def requantize_per_channel(
    input, input_min, input_max, requested_output_min, requested_output_max, *, out_type
):
    low, high = scalars(requested_output_min, requested_output_max)
    dtype = out_type.numpy
    steps = np.maximum(np.abs(input_min), np.abs(input_max)) / np.float32(1 << 31)
    scale = steps * (np.float32(limits(dtype)[1]) / max(abs(low), abs(high)))
    return np.clip(np.rint(input.astype(np.float32) * scale), *limits(dtype)), low, high
