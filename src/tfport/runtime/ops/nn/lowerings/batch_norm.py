"""Batch normalization, local response normalization and biases, in ONNX.

Learned statistics become one factor and one offset for each channel, in the layout that the
op has: no transposes, and `fuse` folds both into a convolution before them.
"""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.onnx_layouts import with_channels
from tfport.runtime.ops.nn.windows import Layout


def _along_channels(b: Builder, vector: Operand, layout: Layout) -> Operand:
    """A vector of channels in a shape that broadcasts along the layout."""
    behind = len(layout.text) - 1 - layout.channel
    return b.reshape(vector, -1, *[1] * behind) if behind else vector


def affine(
    b: Builder,
    x: Operand,
    layout: Layout,
    scale: Operand,
    offset: Operand,
    mean: Operand,
    variance: Operand,
    epsilon: float,
) -> Operand:
    """`(x - mean) * scale / sqrt(variance + epsilon) + offset`."""
    if rank_of(x) != len(layout.text):
        raise CannotLower("its input has another rank")
    arrays = [o.array for o in (scale, offset, mean, variance)]
    if all(array is not None for array in arrays):
        gamma, beta, centre, spread = (np.asarray(a, np.float64) for a in arrays)
        if len({len(a) for a in (gamma, beta, centre, spread)}) != 1:
            raise CannotLower("its statistics do not fit")
        x = with_channels(b, x, layout.channel, len(gamma))
        factor = gamma / np.sqrt(spread + np.float32(epsilon))
        scaled = b.Mul(x, _along_channels(b, b.const(factor, x.dtype), layout))
        return b.Add(scaled, _along_channels(b, b.const(beta - centre * factor, x.dtype), layout))
    rate = b.Div(scale, b.Sqrt(b.Add(variance, b.const(epsilon, variance.dtype))))
    centred = b.Sub(x, _along_channels(b, mean, layout))
    return b.Add(b.Mul(centred, _along_channels(b, rate, layout)), _along_channels(b, offset, layout))


def _normalized(
    b: Builder,
    x: Operand,
    scale: Operand,
    offset: Operand,
    mean: Operand,
    variance: Operand,
    epsilon: float,
    factor: float,
    data_format: str,
    is_training: bool,
) -> list[Operand]:
    layout = Layout(data_format)
    if is_training:
        return _of_batch(b, x, scale, offset, mean, variance, epsilon, factor, layout)
    dtype = x.dtype
    y = affine(b, b.cast(x, FLOAT32), layout, scale, offset, mean, variance, epsilon)
    held = [o if o.array is not None else b.Identity(o) for o in (mean, variance)]
    return [b.cast(y, dtype), *held, *held]


def _of_batch(
    b: Builder,
    x: Operand,
    scale: Operand,
    offset: Operand,
    mean: Operand,
    variance: Operand,
    epsilon: float,
    factor: float,
    layout: Layout,
) -> list[Operand]:
    """With the statistics of the batch itself."""
    if rank_of(x) != len(layout.text):
        raise CannotLower("its input has another rank")
    if x.shape is None or 0 in x.shape:
        raise CannotLower("its input may be empty")
    dtype, x = x.dtype, b.cast(x, FLOAT32)
    axes = b.ints(0, *layout.space)
    here = b.ReduceMean(x, axes, keepdims=1)
    centred = b.Sub(x, here)
    spread = b.ReduceMean(b.Mul(centred, centred), axes, keepdims=1)
    rate = b.Div(_along_channels(b, scale, layout), b.Sqrt(b.Add(spread, b.const(epsilon, FLOAT32))))
    y = b.Add(b.Mul(centred, rate), _along_channels(b, offset, layout))
    count = b.ReduceProd(b.Gather(b.Shape(x), axes, axis=0), keepdims=0)
    fewer = b.Max(b.Sub(count, b.const(1, count.dtype)), b.const(1, count.dtype))
    correction = b.Div(b.cast(count, FLOAT32), b.cast(fewer, FLOAT32))
    flat_mean, flat_spread = b.squeeze(here, 0, *layout.space), b.squeeze(spread, 0, *layout.space)
    unbiased = b.Mul(flat_spread, correction)
    if factor == 1:
        return [b.cast(y, dtype), flat_mean, unbiased, flat_mean, flat_spread]
    old, new = b.const(1 - np.float32(factor), FLOAT32), b.const(factor, FLOAT32)
    running = [
        b.Add(b.Mul(b.cast(before, FLOAT32), old), b.Mul(now, new))
        for before, now in ((mean, flat_mean), (variance, unbiased))
    ]
    return [b.cast(y, dtype), *running, flat_mean, flat_spread]


@lower("FusedBatchNorm FusedBatchNormV2")
def fused_batch_norm(
    b, x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training
):
    return _normalized(
        b, x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training
    )


@lower("FusedBatchNormV3")
def fused_batch_norm_v3(
    b, x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training
):
    reserved = b.const(np.zeros((0,) if len(data_format) == 4 else ()), FLOAT32)
    found = _normalized(
        b, x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training
    )
    return *found, reserved


@lower("BatchNormWithGlobalNormalization")
def batch_norm_with_global_normalization(
    b, t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization
):
    scale = gamma
    if not scale_after_normalization:
        if gamma.shape is None or gamma.shape[0] is None:
            raise CannotLower("the number of channels is not known")
        scale = b.const(np.ones(gamma.shape[0]), gamma.dtype)
    # narrow types are computed in float32 and rounded once
    kind = FLOAT32 if t.dtype.name in ("float16", "bfloat16") else t.dtype
    x, factor, offset, mean, variance = (b.cast(o, kind) for o in (t, scale, beta, m, v))
    normalized = affine(b, x, Layout("NHWC"), factor, offset, mean, variance, variance_epsilon)
    return b.cast(normalized, t.dtype)
