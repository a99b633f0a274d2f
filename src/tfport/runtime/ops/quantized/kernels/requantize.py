"""Requantize: convert quantized tensors to a requested range, or to the range of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.quantized.ranges import check_range, from_float, limits, scalars, to_float


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


def _narrowed(q: Any, low: Any, high: Any, new_low: Any, new_high: Any, kind: Any) -> Any:
    """Convert integers to another range; from 32 to 8 bits in fixed point with 16 fractional bits."""
    if q.dtype != np.int32 or kind != np.uint8:
        return from_float(to_float(q, low, high, q.dtype), new_low, new_high, kind)
    span, wanted = np.float32(high - low), np.float32(new_high - new_low)
    if wanted == 0:
        return np.zeros(q.shape, kind)
    unit = 1 << 16
    scale = int(255.0 * unit * float(span) / float(wanted))
    middle = int(
        float(np.float32((float(low) + float(high)) / 2.0)) * float(np.float32(255.0 / float(wanted))) * unit
    )
    bottom = int(unit * (float(new_low) * 255.0) / float(wanted))
    fixed = (q.astype(np.int64) * scale >> 32) + (middle - bottom + (unit >> 1))
    return np.clip(fixed >> 16, 0, 255).astype(kind)


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
    kind = out_type.numpy
    steps = np.maximum(np.abs(input_min), np.abs(input_max)) / np.float32(1 << 31)
    scale = steps * (np.float32(limits(kind)[1]) / max(abs(low), abs(high)))
    return np.clip(np.rint(input.astype(np.float32) * scale), *limits(kind)), low, high
