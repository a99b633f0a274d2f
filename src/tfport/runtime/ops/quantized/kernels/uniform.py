"""Uniform quantization: integers with a scale and a zero point, per tensor or per slice of an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _along(x: Any, axis: int, *arrays: Any) -> list[Any]:
    """Reshape scales and zero points to broadcast along an axis."""
    if axis < -1 or axis >= x.ndim:
        raise RunFailed(f"axis {axis} is out of range for rank {x.ndim}")
    wanted = () if axis == -1 else (x.shape[axis],)
    for array in arrays:
        if array.shape != wanted:
            raise RunFailed(
                f"scales and zero points must have shape {list(wanted)}, found {list(array.shape)}"
            )
    return [a if axis == -1 else a.reshape(-1, *[1] * (x.ndim - axis - 1)) for a in arrays]


@host("UniformQuantize")
def uniform_quantize(
    input, scales, zero_points, *, Tout, quantization_axis, quantization_min_val, quantization_max_val
):
    scale, zero = _along(input, quantization_axis, scales, zero_points)
    whole = np.floor(input * (np.float32(1) / scale) + np.float32(0.5)) + zero
    return np.clip(whole, quantization_min_val, quantization_max_val).astype(Tout.numpy)


@host("UniformDequantize")
def uniform_dequantize(
    input, scales, zero_points, *, Tout, quantization_axis, quantization_min_val, quantization_max_val
):
    scale, zero = _along(input, quantization_axis, scales, zero_points)
    return (input.astype(np.int32) - zero).astype(np.float32) * scale


def _rescaled(q: Any, zero: Any, new_zero: Any, ratio: Any, low: int, high: int) -> Any:
    """Convert integers to another scale, by a 31-bit factor and a shift."""
    part, power = np.frexp(np.asarray(ratio, np.float64))
    factor = np.floor(part * (1 << 31) + 0.5).astype(np.int64)
    shift = 31 - power
    moved = (q.astype(np.int64) - zero) * factor + (np.int64(1) << (shift - 1))
    return np.clip((moved >> shift) + new_zero, low, high)


@host("UniformRequantize")
def uniform_requantize(
    input,
    input_scales,
    input_zero_points,
    output_scales,
    output_zero_points,
    *,
    Tout,
    input_quantization_axis,
    input_quantization_min_val,
    input_quantization_max_val,
    output_quantization_axis,
    output_quantization_min_val,
    output_quantization_max_val,
):
    scale, zero = _along(input, input_quantization_axis, input_scales, input_zero_points)
    new_scale, new_zero = _along(input, output_quantization_axis, output_scales, output_zero_points)
    ends = output_quantization_min_val, output_quantization_max_val
    return _rescaled(input, zero, new_zero, scale.astype(np.float64) / new_scale, *ends).astype(Tout.numpy)


@host("UniformQuantizedClipByValue")
def uniform_clip_by_value(
    operand,
    min,
    max,
    scales,
    zero_points,
    *,
    quantization_axis,
    quantization_min_val,
    quantization_max_val,
):
    low, high, *_ = _along(operand, quantization_axis, min, max, scales, zero_points)
    return np.clip(operand, low, high)


@host("UniformQuantizedAdd")
def uniform_add(
    lhs,
    rhs,
    lhs_scales,
    lhs_zero_points,
    rhs_scales,
    rhs_zero_points,
    output_scales,
    output_zero_points,
    *,
    lhs_quantization_axis,
    lhs_quantization_min_val,
    lhs_quantization_max_val,
    rhs_quantization_axis,
    rhs_quantization_min_val,
    rhs_quantization_max_val,
    output_quantization_axis,
    output_quantization_min_val,
    output_quantization_max_val,
):
    if max(lhs_quantization_axis, rhs_quantization_axis, output_quantization_axis) != -1:
        raise RunFailed("only per-tensor scales are supported")
    ends = output_quantization_min_val, output_quantization_max_val
    x, y = (
        _rescaled(q, zero, output_zero_points, float(scale) / float(output_scales), *ends)
        for q, scale, zero in ((lhs, lhs_scales, lhs_zero_points), (rhs, rhs_scales, rhs_zero_points))
    )
    return np.clip(x + y - output_zero_points, *ends)
