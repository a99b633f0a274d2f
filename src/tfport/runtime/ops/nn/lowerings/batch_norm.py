"""Batch normalization and local response normalization, lowered to ONNX.

Learned statistics become one factor and one offset per channel in the layout of the op. That
needs no transposes, and `passes.islands.convolutions` folds both into a preceding convolution.
"""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.onnx_layouts import channels_second, from_channels_second, with_channels
from tfport.runtime.ops.nn.windows import DataLayout


def _along_channels(b: Builder, vector: Operand, layout: DataLayout) -> Operand:
    """Reshape a vector so that it broadcasts along the channels of the layout."""
    trailing = layout.rank - 1 - layout.channel_axis
    return b.reshape(vector, -1, *[1] * trailing) if trailing else vector


def affine(
    b: Builder,
    x: Operand,
    layout: DataLayout,
    scale: Operand,
    offset: Operand,
    mean: Operand,
    variance: Operand,
    epsilon: float,
) -> Operand:
    """`(x - mean) * scale / sqrt(variance + epsilon) + offset`."""
    if rank_of(x) != layout.rank:
        raise CannotLower(f"the input must have {layout.rank} axes")
    arrays = [o.array for o in (scale, offset, mean, variance)]
    if all(array is not None for array in arrays):
        gamma, beta, center, spread = (np.asarray(a, np.float64) for a in arrays)
        if len({len(a) for a in (gamma, beta, center, spread)}) != 1:
            raise CannotLower("scale, offset, mean and variance differ in length")
        x = with_channels(b, x, layout.channel_axis, len(gamma))
        with np.errstate(invalid="ignore", divide="ignore"):  # a variance below zero gives NaN
            factor = gamma / np.sqrt(spread + np.float32(epsilon))
        scaled = b.Mul(x, _along_channels(b, b.const(factor, x.dtype), layout))
        return b.Add(scaled, _along_channels(b, b.const(beta - center * factor, x.dtype), layout))
    rate = b.Div(scale, b.Sqrt(b.Add(variance, b.const(epsilon, variance.dtype))))
    centered = b.Sub(x, _along_channels(b, mean, layout))
    return b.Add(b.Mul(centered, _along_channels(b, rate, layout)), _along_channels(b, offset, layout))


def _train(
    b: Builder,
    x: Operand,
    scale: Operand,
    offset: Operand,
    mean: Operand,
    variance: Operand,
    epsilon: float,
    factor: float,
    layout: DataLayout,
) -> list[Operand]:
    """Normalize with the statistics of the batch, and update the running statistics."""
    if rank_of(x) != layout.rank:
        raise CannotLower(f"the input must have {layout.rank} axes")
    if x.shape is None or 0 in x.shape:
        raise CannotLower("the input may be empty")
    dtype, x = x.dtype, b.cast(x, FLOAT32)
    axes = b.ints(0, *layout.spatial_axes)
    batch_mean = b.ReduceMean(x, axes, keepdims=1)
    centered = b.Sub(x, batch_mean)
    batch_variance = b.ReduceMean(b.Mul(centered, centered), axes, keepdims=1)
    rate = b.Div(_along_channels(b, scale, layout), b.Sqrt(b.Add(batch_variance, b.const(epsilon, FLOAT32))))
    y = b.Add(b.Mul(centered, rate), _along_channels(b, offset, layout))
    count = b.ReduceProd(b.Gather(b.Shape(x), axes, axis=0), keepdims=0)
    divisor = b.Max(b.Sub(count, b.const(1, count.dtype)), b.const(1, count.dtype))
    correction = b.Div(b.cast(count, FLOAT32), b.cast(divisor, FLOAT32))
    flat_mean, flat_variance = (b.squeeze(o, 0, *layout.spatial_axes) for o in (batch_mean, batch_variance))
    unbiased = b.Mul(flat_variance, correction)
    if factor == 1:
        return [b.cast(y, dtype), flat_mean, unbiased, flat_mean, flat_variance]
    keep, add = b.const(1 - np.float32(factor), FLOAT32), b.const(factor, FLOAT32)
    running = [
        b.Add(b.Mul(b.cast(old, FLOAT32), keep), b.Mul(new, add))
        for old, new in ((mean, flat_mean), (variance, unbiased))
    ]
    return [b.cast(y, dtype), *running, flat_mean, flat_variance]


@lower("FusedBatchNorm FusedBatchNormV2")
def fused_batch_norm(
    b, x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training
):
    layout = DataLayout(data_format)
    if is_training:
        return _train(b, x, scale, offset, mean, variance, epsilon, exponential_avg_factor, layout)
    y = affine(b, b.cast(x, FLOAT32), layout, scale, offset, mean, variance, epsilon)
    statistics = [o if o.array is not None else b.Identity(o) for o in (mean, variance)]
    return [b.cast(y, x.dtype), *statistics, *statistics]


@lower("FusedBatchNormV3")
def fused_batch_norm_v3(
    b, x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training
):
    reserved = b.const(np.zeros((0,) if len(data_format) == 4 else ()), FLOAT32)
    attrs = {
        "epsilon": epsilon,
        "exponential_avg_factor": exponential_avg_factor,
        "data_format": data_format,
        "is_training": is_training,
    }
    return *fused_batch_norm(b, x, scale, offset, mean, variance, **attrs), reserved


@lower("BatchNormWithGlobalNormalization")
def batch_norm_with_global_normalization(
    b, t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization
):
    scale = gamma
    if not scale_after_normalization:
        if gamma.shape is None or gamma.shape[0] is None:
            raise CannotLower("the number of channels is unknown")
        scale = b.const(np.ones(gamma.shape[0]), gamma.dtype)
    # float16 and bfloat16 are computed in float32 and rounded once
    dtype = FLOAT32 if t.dtype.name in ("float16", "bfloat16") else t.dtype
    x, factor, offset, mean, variance = (b.cast(o, dtype) for o in (t, scale, beta, m, v))
    normalized = affine(b, x, DataLayout("NHWC"), factor, offset, mean, variance, variance_epsilon)
    return b.cast(normalized, t.dtype)


@lower("LRN")
def local_response_normalization(b, input, *, depth_radius, bias, alpha, beta):
    layout = DataLayout("NHWC")
    size = 2 * depth_radius + 1
    inner = channels_second(b, input, layout)
    # ONNX divides alpha by the number of summed channels
    output = b.LRN(inner, alpha=float(alpha) * size, beta=float(beta), bias=float(bias), size=size)
    return from_channels_second(b, output, layout)
