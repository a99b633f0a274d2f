"""Arithmetic on quantized tensors; each input and output comes with the range of its integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import convolve
from tfport.runtime.ops.nn.kernels.pooling import pool_windows, window_counts, window_maximum
from tfport.runtime.ops.nn.windows import DataLayout, layout_windows
from tfport.runtime.ops.quantized.ranges import (
    from_float,
    from_float_fast,
    from_float_unclamped,
    limits,
    product_range,
    scalar,
    scalars,
    sum_range,
    to_float,
    to_float_fast,
    zero_of,
)

_NHWC = DataLayout("NHWC")


def _centered(q: Any, low: Any, high: Any) -> Any:
    """Integers relative to the one that represents zero."""
    return q.astype(np.int32) - np.int32(zero_of(low, high, q.dtype))


@host("QuantizedConv2D")
def quantized_conv2d(
    input,
    filter,
    min_input,
    max_input,
    min_filter,
    max_filter,
    *,
    out_type,
    strides,
    padding,
    dilations,
):
    a, b = scalars(min_input, max_input), scalars(min_filter, max_filter)
    if input.ndim != 4 or filter.ndim != 4 or input.shape[-1] != filter.shape[-2]:
        raise RunFailed(f"filter {list(filter.shape)} does not match input {list(input.shape)}")
    x, w = _centered(input, *a), _centered(filter, *b)
    win = layout_windows(_NHWC, x.shape[1:-1], w.shape[:2], strides, dilations, padding)
    return convolve(x, w, win), *product_range(a, b, input.dtype, filter.dtype, out_type.numpy)


@host("QuantizedMatMul")
def quantized_matmul(a, b, min_a, max_a, min_b, max_b, *, Toutput, transpose_a, transpose_b, Tactivation):
    if a.ndim != 2 or b.ndim != 2:
        raise RunFailed(f"a and b must be matrices, found shapes {list(a.shape)} and {list(b.shape)}")
    ends = scalars(min_a, max_a), scalars(min_b, max_b)
    x, y = _centered(a, *ends[0]), _centered(b, *ends[1])
    product = (x.T if transpose_a else x) @ (y.T if transpose_b else y)
    return product, *product_range(*ends, a.dtype, b.dtype, Toutput.numpy)


@host("QuantizedMul")
def quantized_mul(x, y, min_x, max_x, min_y, max_y, *, Toutput):
    ends = scalars(min_x, max_x), scalars(min_y, max_y)
    product = _centered(x, *ends[0]) * _centered(y, *ends[1])
    return product, *product_range(*ends, x.dtype, y.dtype, Toutput.numpy)


@host("QuantizedAdd")
def quantized_add(x, y, min_x, max_x, min_y, max_y, *, Toutput):
    ends = scalars(min_x, max_x), scalars(min_y, max_y)
    total = sum_range(*ends)
    dtype = Toutput.numpy
    parts = [_in_range(q, *own, *total, dtype) for q, own in zip((x, y), ends, strict=True)]
    return parts[0] + parts[1], *total


def _in_range(q: Any, low: Any, high: Any, new_low: Any, new_high: Any, dtype: Any) -> Any:
    """Convert integers from one range to another, by a whole number of steps each."""
    if q.size == 1:
        return from_float(to_float(q, low, high, q.dtype), new_low, new_high, dtype)
    zero, unit = (
        int(from_float_unclamped(to_float(np.array(n), low, high, q.dtype), new_low, new_high, dtype))
        for n in (0, 1)
    )
    return np.clip(zero + q.astype(np.int64) * (unit - zero), *limits(dtype)).astype(dtype)


@host("QuantizedBiasAdd")
def quantized_bias_add(input, bias, min_input, max_input, min_bias, max_bias, *, out_type):
    if input.ndim < 2 or bias.shape != input.shape[-1:]:
        raise RunFailed(f"bias {list(bias.shape)} does not match input {list(input.shape)}")
    ends = scalars(min_input, max_input), scalars(min_bias, max_bias)
    total = sum_range(*ends, spare_bits=17)
    parts = [
        from_float_fast(to_float_fast(q, *own, q.dtype), *total, out_type.numpy)
        for q, own in zip((input, bias), ends, strict=True)
    ]
    return parts[0] + parts[1], *total


@host("QuantizedRelu")
def quantized_relu(features, min_features, max_features, *, out_type):
    low, high = scalars(min_features, max_features)
    return np.maximum(features, from_float(np.float32(0), low, high, features.dtype)), low, high


@host("QuantizedRelu6")
def quantized_relu6(features, min_features, max_features, *, out_type):
    low, high = scalars(min_features, max_features)
    bottom, top = (from_float(np.float32(n), low, high, features.dtype) for n in (0, 6))
    return np.minimum(np.maximum(features, bottom), top), low, high


@host("QuantizedMaxPool")
def quantized_max_pool(input, min_input, max_input, *, ksize, strides, padding):
    win = pool_windows(_NHWC, _NHWC.to_channels_last(input), ksize, strides, padding)
    return window_maximum(input, win), scalar(min_input), scalar(max_input)


@host("QuantizedAvgPool")
def quantized_avg_pool(input, min_input, max_input, *, ksize, strides, padding):
    x = _NHWC.to_channels_last(input).astype(np.int32)
    win = pool_windows(_NHWC, x, ksize, strides, padding)
    padded = win.padded(x)
    total = np.zeros((len(x), *win.count, x.shape[-1]), np.int32)
    for tap in win.taps():
        total += padded[win.slices(tap)]
    mean = total / window_counts(win, np.int32)
    return np.rint(mean), scalar(min_input), scalar(max_input)


@host("QuantizedReshape")
def quantized_reshape(tensor, shape, input_min, input_max):
    return tensor.reshape([int(n) for n in shape]), input_min, input_max


@host("QuantizedConcat")
def quantized_concat(concat_dim, values, input_mins, input_maxes):
    return _concatenated(values, int(concat_dim), input_mins, input_maxes)


def _concatenated(values: Any, axis: int, mins: Any, maxes: Any) -> Any:
    lows, highs = [scalar(m) for m in mins], [scalar(m) for m in maxes]
    low, high = min(np.float32(0), *lows), max(highs)
    dtype = values[0].dtype
    if dtype.kind == "i":
        high = max(abs(low), abs(high))
        low = -high
    parts = [
        q if (a, b) == (low, high) else from_float_fast(to_float_fast(q, a, b, dtype), low, high, dtype)
        for q, a, b in zip(values, lows, highs, strict=True)
    ]
    return np.concatenate(parts, axis), np.float32(low), np.float32(high)


@host("QuantizedInstanceNorm")
def quantized_instance_norm(
    x, x_min, x_max, *, output_range_given, given_y_min, given_y_max, variance_epsilon, min_separation
):
    low, high = scalars(x_min, x_max)
    values = to_float_fast(x, low, high, x.dtype)
    mean = values.mean((1, 2), keepdims=True)
    spread = np.square(values - mean).mean((1, 2), keepdims=True)
    normal = (values - mean) / np.sqrt(spread + np.float32(variance_epsilon))
    if output_range_given:
        ends = np.float32(given_y_min), np.float32(given_y_max)
    else:
        ends = normal.min(), max(normal.max(), normal.min() + np.float32(min_separation))
    return from_float_fast(normal, *ends, x.dtype), *ends


@host("QuantizedBatchNormWithGlobalNormalization")
def quantized_batch_norm(
    t,
    t_min,
    t_max,
    m,
    m_min,
    m_max,
    v,
    v_min,
    v_max,
    beta,
    beta_min,
    beta_max,
    gamma,
    gamma_min,
    gamma_max,
    *,
    out_type,
    variance_epsilon,
    scale_after_normalization,
):
    """In fixed point: a factor and an offset per channel, in steps of the output range."""
    dtype = out_type.numpy
    total = np.float32(-(1 << 20)), np.float32(1 << 20)
    mean, spread, shift, factor = (
        to_float(q, *scalars(low, high), q.dtype)
        for q, low, high in (
            (m, m_min, m_max),
            (v, v_min, v_max),
            (beta, beta_min, beta_max),
            (gamma, gamma_min, gamma_max),
        )
    )
    scale = np.float32(1) / np.sqrt(spread + np.float32(variance_epsilon))
    scale = scale * factor if scale_after_normalization else scale
    scales, offsets = (from_float(x, *total, dtype) for x in (scale, -mean * scale + shift))
    unit = int(from_float(np.float32(1), *total, dtype))
    x = from_float(to_float(t, *scalars(t_min, t_max), t.dtype), *total, dtype)
    product = x * scales
    return np.trunc(product / unit).astype(dtype) + offsets, *total
