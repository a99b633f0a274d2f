"""Batch normalization: with the statistics of the batch, or with those that were learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import Layout
from tfport.runtime.ops.shared.precision import widen


def _per_channel(x: Any, **vectors: Any) -> None:
    for name, vector in vectors.items():
        if vector.shape != x.shape[-1:]:
            raise RunFailed(f"{name} must have {x.shape[-1]} elements, found the shape {vector.shape}")


def normalized(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    """The answer, running mean and variance, and the mean and variance that a gradient would want."""
    layout = Layout(data_format)
    inner = widen(layout.last(x))
    _per_channel(inner, scale=scale, offset=offset)
    if not is_training:
        _per_channel(inner, mean=mean, variance=variance)
    if not inner.size:
        lost = np.full(inner.shape[-1:], np.nan, inner.dtype)
        blank = np.zeros(inner.shape[-1:], inner.dtype)
        return x, lost, lost, blank, blank
    if not is_training:
        y = _scaled(inner, mean, variance, scale, offset, epsilon)
        return layout.back(y).astype(x.dtype), mean, variance, mean, variance
    if exponential_avg_factor != 1:
        _per_channel(inner, mean=mean, variance=variance)
    axes = tuple(range(inner.ndim - 1))
    count = inner.size // max(inner.shape[-1], 1)
    here = inner.mean(axes)
    spread = np.square(inner - here).mean(axes)
    y = _scaled(inner, here, spread, scale, offset, epsilon)
    unbiased = spread * (count / max(count - 1, 1))
    factor = inner.dtype.type(exponential_avg_factor)
    if factor == 1:
        running = here, unbiased
    else:
        running = (1 - factor) * mean + factor * here, (1 - factor) * variance + factor * unbiased
    return layout.back(y).astype(x.dtype), *running, here, spread


def _scaled(x: Any, mean: Any, variance: Any, scale: Any, offset: Any, epsilon: float) -> Any:
    factor = scale / np.sqrt(variance + np.float32(epsilon))
    return (x - mean) * factor + offset


@host("FusedBatchNorm FusedBatchNormV2")
def fused_batch_norm(
    x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training
):
    return normalized(
        x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training
    )


@host("FusedBatchNormV3")
def fused_batch_norm_v3(
    x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training
):
    answers = normalized(
        x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training
    )
    return *answers, _reserved(x)


@host("_FusedBatchNormEx")
def fused_batch_norm_ex(
    x,
    scale,
    offset,
    mean,
    variance,
    side_input,
    *,
    epsilon,
    exponential_avg_factor,
    activation_mode,
    data_format,
    is_training,
):
    y, *rest = normalized(
        x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training
    )
    total = widen(y) + sum(widen(side) for side in side_input) if side_input else y
    if activation_mode == "Relu":
        total = np.maximum(total, 0)
    elif activation_mode != "Identity":
        raise RunFailed(f"there is no activation {activation_mode}")
    return total, *rest, _reserved(x)


def _reserved(x: Any) -> Any:
    """What TensorFlow's CPU kernels put where cuDNN keeps something for the gradient."""
    return np.zeros((0,) if x.ndim == 4 else (), np.float32)


def _gradient(
    dy: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float, data_format: str, is_training: bool
) -> Any:
    """The gradients of the input, scale and offset."""
    layout = Layout(data_format)
    inner, grad = widen(layout.last(x)), widen(layout.last(dy))
    axes = tuple(range(inner.ndim - 1))
    rate = 1 / np.sqrt(variance + np.float32(epsilon))
    centred = (inner - mean) * rate
    to_scale, to_offset = (grad * centred).sum(axes), grad.sum(axes)
    to_x = grad * scale * rate
    if is_training:
        count = inner.size // max(inner.shape[-1], 1)
        to_x = scale * rate * (grad - to_offset / count - centred * (to_scale / count))
    return layout.back(to_x).astype(x.dtype), to_scale, to_offset


@host("FusedBatchNormGrad FusedBatchNormGradV2")
def fused_batch_norm_grad(
    y_backprop, x, scale, reserve_space_1, reserve_space_2, *, epsilon, data_format, is_training
):
    return _gradients(
        y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon, data_format, is_training
    )


@host("FusedBatchNormGradV3")
def fused_batch_norm_grad_v3(
    y_backprop,
    x,
    scale,
    reserve_space_1,
    reserve_space_2,
    reserve_space_3,
    *,
    epsilon,
    data_format,
    is_training,
):
    return _gradients(
        y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon, data_format, is_training
    )


def _gradients(*given: Any) -> Any:
    """With the two outputs that only older kernels filled."""
    return *_gradient(*given), np.zeros((), np.float32), np.zeros((), np.float32)


@host("BatchNormWithGlobalNormalization")
def batch_norm_with_global_normalization(
    t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization
):
    x = widen(t)
    _per_channel(x, m=m, v=v, beta=beta, gamma=gamma)
    rate = 1 / np.sqrt(widen(v) + x.dtype.type(variance_epsilon))
    return (x - widen(m)) * (rate * widen(gamma) if scale_after_normalization else rate) + widen(beta)
