"""Batch normalization, with statistics of the batch or learned ones, and local response normalization.

Both come with their gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import DataLayout
from tfport.runtime.ops.shared.precision import widen


def _check_channels(x: Any, **vectors: Any) -> None:
    for name, vector in vectors.items():
        if vector.shape != x.shape[-1:]:
            raise RunFailed(f"{name} must have shape {x.shape[-1:]}, found {vector.shape}")


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
    """The result, running mean and variance, and the mean and variance for the gradient."""
    layout = DataLayout(data_format)
    inner = widen(layout.to_channels_last(x))
    _check_channels(inner, scale=scale, offset=offset)
    if not is_training:
        _check_channels(inner, mean=mean, variance=variance)
    if not inner.size:
        nans = np.full(inner.shape[-1:], np.nan, inner.dtype)
        zeros = np.zeros(inner.shape[-1:], inner.dtype)
        return x, nans, nans, zeros, zeros
    if not is_training:
        y = _scaled(inner, mean, variance, scale, offset, epsilon)
        return layout.from_channels_last(y).astype(x.dtype), mean, variance, mean, variance
    if exponential_avg_factor != 1:
        _check_channels(inner, mean=mean, variance=variance)
    axes = tuple(range(inner.ndim - 1))
    count = inner.size // max(inner.shape[-1], 1)
    batch_mean = inner.mean(axes)
    batch_variance = np.square(inner - batch_mean).mean(axes)
    y = _scaled(inner, batch_mean, batch_variance, scale, offset, epsilon)
    unbiased = batch_variance * (count / max(count - 1, 1))
    factor = inner.dtype.type(exponential_avg_factor)
    if factor == 1:
        running = batch_mean, unbiased
    else:
        running = (1 - factor) * mean + factor * batch_mean, (1 - factor) * variance + factor * unbiased
    return layout.from_channels_last(y).astype(x.dtype), *running, batch_mean, batch_variance


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
    outputs = normalized(
        x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training
    )
    return *outputs, _reserved(x)


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
        raise RunFailed(f"activation_mode must be Relu or Identity, found {activation_mode}")
    return total, *rest, _reserved(x)


def _reserved(x: Any) -> Any:
    """reserve_space_3, which only cuDNN uses, as TensorFlow's CPU kernels return it."""
    return np.zeros((0,) if x.ndim == 4 else (), np.float32)


def _gradient(
    dy: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float, data_format: str, is_training: bool
) -> Any:
    """The gradients with respect to input, scale and offset."""
    layout = DataLayout(data_format)
    inner, grad = widen(layout.to_channels_last(x)), widen(layout.to_channels_last(dy))
    axes = tuple(range(inner.ndim - 1))
    rate = 1 / np.sqrt(variance + np.float32(epsilon))
    centered = (inner - mean) * rate
    scale_grad, offset_grad = (grad * centered).sum(axes), grad.sum(axes)
    x_grad = grad * scale * rate
    if is_training:
        count = inner.size // max(inner.shape[-1], 1)
        x_grad = scale * rate * (grad - offset_grad / count - centered * (scale_grad / count))
    return layout.from_channels_last(x_grad).astype(x.dtype), scale_grad, offset_grad


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


def _gradients(*arguments: Any) -> Any:
    """The gradients and the two outputs that only older kernels filled."""
    return *_gradient(*arguments), np.zeros((), np.float32), np.zeros((), np.float32)


@host("BatchNormWithGlobalNormalization")
def batch_norm_with_global_normalization(
    t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization
):
    x = widen(t)
    _check_channels(x, m=m, v=v, beta=beta, gamma=gamma)
    rate = 1 / np.sqrt(widen(v) + x.dtype.type(variance_epsilon))
    return (x - widen(m)) * (rate * widen(gamma) if scale_after_normalization else rate) + widen(beta)


# Local response normalization across channels


def _sum_of_neighbors(x: Any, radius: int) -> Any:
    """The sum of the channels at most `radius` away."""
    depth = x.shape[-1]
    radius = min(radius, depth)
    total = np.concatenate([np.zeros((*x.shape[:-1], 1), np.float64), np.cumsum(x, -1, np.float64)], -1)
    at = np.arange(depth)
    last, first = np.minimum(at + radius + 1, depth), np.maximum(at - radius, 0)
    return (total[..., last] - total[..., first]).astype(x.dtype)


@host("LRN")
def local_response_normalization(input, *, depth_radius, bias, alpha, beta):
    if input.ndim != 4:
        raise RunFailed(f"the input must have 4 axes, found {input.ndim}")
    x = widen(input)
    return x * (bias + alpha * _sum_of_neighbors(x * x, depth_radius)) ** np.float32(-beta)


@host("LRNGrad")
def local_response_gradient(input_grads, input_image, output_image, *, depth_radius, bias, alpha, beta):
    grads, x, y = (widen(a) for a in (input_grads, input_image, output_image))
    norm = bias + alpha * _sum_of_neighbors(x * x, depth_radius)
    shared = _sum_of_neighbors(grads * y / norm, depth_radius)
    return grads * norm ** np.float32(-beta) - 2 * alpha * beta * x * shared
