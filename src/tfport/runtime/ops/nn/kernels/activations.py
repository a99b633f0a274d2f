"""Activation functions and BiasAdd, and the gradients of these and of some element-wise functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import same_shapes
from tfport.runtime.ops.shared.precision import widen

SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


@host("Relu")
def relu(features):
    return np.maximum(features, features.dtype.type(0))


@host("Relu6")
def relu6(features):
    dtype = features.dtype.type
    return np.minimum(np.maximum(features, dtype(0)), dtype(6))


@host("LeakyRelu")
def leaky_relu(features, *, alpha):
    x = widen(features)
    return np.where(x > 0, x, x * x.dtype.type(alpha))


@host("Prelu")
def prelu(x, alpha):
    x = widen(x)
    return np.where(x < 0, x * widen(alpha), x)


@host("Elu")
def elu(features):
    x = widen(features)
    return np.where(x < 0, np.expm1(x), x)


@host("Selu")
def selu(features):
    x = widen(features)
    dtype = x.dtype.type
    return np.where(x < 0, dtype(SELU_SCALE_ALPHA) * np.expm1(x), dtype(SELU_SCALE) * x)


@host("Addons>Gelu Gelu")
def gelu(features, *, approximate):
    x = widen(features)
    if not approximate:
        from scipy.special import erf

        return x * (1 + erf(x * x.dtype.type(np.sqrt(0.5)))) / 2
    cubic = x.dtype.type(np.sqrt(2 / np.pi)) * (x + x.dtype.type(0.044715) * x * x * x)
    return x * (1 + np.tanh(cubic)) / 2


@host("Addons>Mish")
def mish(features):
    x = widen(features)
    return x * np.tanh(np.logaddexp(x, x.dtype.type(0)))


@host("Addons>Lisht")
def lisht(features):
    x = widen(features)
    return x * np.tanh(x)


@host("Addons>Tanhshrink")
def tanhshrink(features):
    x = widen(features)
    return x - np.tanh(x)


@host("Addons>Hardshrink")
def hardshrink(features, *, lower, upper):
    dtype = features.dtype.type
    return np.where((features < dtype(lower)) | (features > dtype(upper)), features, dtype(0))


@host("Addons>Softshrink")
def softshrink(features, *, lower, upper):
    x = widen(features)
    lower, upper = x.dtype.type(lower), x.dtype.type(upper)
    return np.where(x < lower, x - lower, np.where(x > upper, x - upper, x.dtype.type(0)))


@host("Softplus")
def softplus(features):
    return np.logaddexp(widen(features), 0).astype(features.dtype)


@host("Softsign")
def softsign(features):
    x = widen(features)
    return x / (1 + np.abs(x))


@host("Softmax")
def softmax(logits):
    shifted = np.exp(_shifted(logits))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


@host("LogSoftmax")
def log_softmax(logits):
    shifted = _shifted(logits)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def _shifted(logits: Any) -> Any:
    if not logits.ndim:
        raise RunFailed("the logits must have at least one axis, found a scalar")
    x = widen(logits)
    return x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)


@host("ReluGrad")
def relu_grad(gradients, features):
    same_shapes(gradients, features)
    # a product as in TensorFlow: an infinite or NaN gradient becomes NaN where features <= 0
    return gradients * (features > 0).astype(gradients.dtype)


@host("Relu6Grad")
def relu6_grad(gradients, features):
    same_shapes(gradients, features)
    return gradients * ((features > 0) & (features < features.dtype.type(6))).astype(gradients.dtype)


@host("LeakyReluGrad")
def leaky_relu_grad(gradients, features, *, alpha):
    same_shapes(gradients, features)
    g = widen(gradients)
    return np.where(features > 0, g, g * g.dtype.type(alpha))


@host("EluGrad")
def elu_grad(gradients, outputs):
    same_shapes(gradients, outputs)
    g, y = widen(gradients), widen(outputs)
    return np.where(y < 0, (y + 1) * g, g)


@host("SeluGrad")
def selu_grad(gradients, outputs):
    same_shapes(gradients, outputs)
    g, y = widen(gradients), widen(outputs)
    dtype = y.dtype.type
    return np.where(y < 0, g * (y + dtype(SELU_SCALE_ALPHA)), g * dtype(SELU_SCALE))


@host("SoftplusGrad")
def softplus_grad(gradients, features):
    same_shapes(gradients, features)
    return widen(gradients) / (np.exp(-widen(features)) + 1)


@host("SoftsignGrad")
def softsign_grad(gradients, features):
    same_shapes(gradients, features)
    return widen(gradients) / np.square(1 + np.abs(widen(features)))


@host("SigmoidGrad")
def sigmoid_grad(y, dy):
    y, dy = _widened(y, dy)
    return dy * y * (1 - y)


@host("TanhGrad")
def tanh_grad(y, dy):
    y, dy = _widened(y, dy)
    return dy * (1 - y * y)


@host("SqrtGrad")
def sqrt_grad(y, dy):
    y, dy = _conjugate(y, dy)
    return dy * y.dtype.type(0.5) / y


@host("RsqrtGrad")
def rsqrt_grad(y, dy):
    y, dy = _conjugate(y, dy)
    return dy * y.dtype.type(-0.5) * y * y * y


@host("InvGrad ReciprocalGrad")
def reciprocal_grad(y, dy):
    y, dy = _conjugate(y, dy)
    return -dy * y * y


def _conjugate(y: Any, dy: Any) -> tuple[Any, Any]:
    y, dy = _widened(y, dy)
    return np.conj(y), dy


def _widened(y: Any, dy: Any) -> tuple[Any, Any]:
    if y.size != dy.size:
        raise RunFailed(f"the inputs must have the same number of elements, found {y.size} and {dy.size}")
    return widen(y), widen(dy)


# BiasAdd


def _channel_axis(rank: int, data_format: str) -> int:
    return 1 if data_format.startswith("NC") else rank - 1


@host("BiasAdd")
def bias_add(value, bias, *, data_format):
    return _add_bias(value, bias, data_format)


@host("BiasAddV1")
def bias_add_v1(value, bias):
    return _add_bias(value, bias, "NHWC")


def _add_bias(value: Any, bias: Any, data_format: str) -> Any:
    if value.ndim < 2:
        raise RunFailed(f"the value must have at least 2 axes, found {value.ndim}")
    if bias.ndim != 1:
        raise RunFailed(f"the bias must be a vector, found {bias.ndim} axes")
    axis = _channel_axis(value.ndim, data_format)
    if axis == 1 and value.ndim < 3 and data_format != "NHWC":
        raise RunFailed(f"the value must have at least 3 axes for {data_format}, found 2")
    if value.shape[axis] != len(bias):
        raise RunFailed(f"the bias must have {value.shape[axis]} elements, found {len(bias)}")
    return value + bias.reshape(-1, *[1] * (value.ndim - axis - 1))


@host("BiasAddGrad")
def bias_add_grad(out_backprop, *, data_format):
    if out_backprop.ndim < 2:
        raise RunFailed(f"the gradient must have at least 2 axes, found {out_backprop.ndim}")
    axis = _channel_axis(out_backprop.ndim, data_format)
    others = tuple(i for i in range(out_backprop.ndim) if i != axis)
    return widen(out_backprop).sum(others, dtype=widen(out_backprop).dtype)
