"""Activation functions, their gradients and BiasAdd, lowered to ONNX."""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.lowerings.arithmetic import would_broadcast
from tfport.runtime.ops.nn.kernels.activations import SELU_SCALE, SELU_SCALE_ALPHA
from tfport.runtime.ops.nn.onnx_layouts import with_channels


@lower("Relu")
def relu(b, features):
    if features.dtype.name.startswith("uint"):
        return b.Identity(features)
    return b.Relu(features)


@lower("Relu6")
def relu6(b, features):
    return b.Clip(features, b.const(0, features.dtype), b.const(6, features.dtype))


@lower("LeakyRelu")
def leaky_relu(b, features, *, alpha):
    return b.LeakyRelu(features, alpha=alpha)


@lower("Prelu")
def prelu(b, x, alpha):
    if rank_of(alpha, "alpha") > rank_of(x):
        raise CannotLower("alpha has more axes than x")
    return b.PRelu(x, alpha)


@lower("Elu")
def elu(b, features):
    return b.Elu(features, alpha=1.0)


@lower("Selu")
def selu(b, features):
    return b.Selu(features, alpha=SELU_SCALE_ALPHA / SELU_SCALE, gamma=SELU_SCALE)


@lower("Addons>Gelu Gelu")
def gelu(b, features, *, approximate):
    if not approximate and features.dtype != FLOAT32:
        raise CannotLower("ONNX Runtime has Erf for float32 only")
    return b.Gelu(features, approximate="tanh" if approximate else "none")


@lower("Addons>Mish")
def mish(b, features):
    return b.Mul(features, b.Tanh(b.Softplus(features)))


@lower("Addons>Lisht")
def lisht(b, features):
    return b.Mul(features, b.Tanh(features))


@lower("Addons>Tanhshrink")
def tanhshrink(b, features):
    return b.Sub(features, b.Tanh(features))


@lower("Addons>Hardshrink")
def hardshrink(b, features, *, lower, upper):
    low, high = b.const(lower, features.dtype), b.const(upper, features.dtype)
    outside = b.Or(b.Less(features, low), b.Greater(features, high))
    return b.Where(outside, features, b.const(0, features.dtype))


@lower("Addons>Softshrink")
def softshrink(b, features, *, lower, upper):
    low, high = b.const(lower, features.dtype), b.const(upper, features.dtype)
    above = b.Where(b.Greater(features, high), b.Sub(features, high), b.const(0, features.dtype))
    return b.Where(b.Less(features, low), b.Sub(features, low), above)


@lower("Softplus")
def softplus(b, features):
    return b.Softplus(features)


@lower("Softsign")
def softsign(b, features):
    return b.Softsign(features)


@lower("Softmax")
def softmax(b, logits):
    _check_rank(logits)
    return b.Softmax(logits, axis=-1)


@lower("LogSoftmax")
def log_softmax(b, logits):
    _check_rank(logits)
    return b.LogSoftmax(logits, axis=-1)


def _check_rank(logits: Operand) -> None:
    if logits.rank == 0:
        raise CannotLower("the logits are a scalar")


def _check_same_shape(x: Operand, y: Operand) -> None:
    if (x.rank != y.rank and None not in (x.rank, y.rank)) or would_broadcast([x, y]):
        raise CannotLower("the inputs may have different shapes")


@lower("ReluGrad")
def relu_grad(b, gradients, features):
    _check_same_shape(gradients, features)
    passes = b.Greater(features, b.const(0, features.dtype))
    return b.Mul(gradients, b.cast(passes, gradients.dtype))


@lower("Relu6Grad")
def relu6_grad(b, gradients, features):
    _check_same_shape(gradients, features)
    zero, six = b.const(0, features.dtype), b.const(6, features.dtype)
    passes = b.And(b.Greater(features, zero), b.Less(features, six))
    return b.Mul(gradients, b.cast(passes, gradients.dtype))


@lower("LeakyReluGrad")
def leaky_relu_grad(b, gradients, features, *, alpha):
    _check_same_shape(gradients, features)
    passes = b.Greater(features, b.const(0, features.dtype))
    return b.Where(passes, gradients, b.Mul(gradients, b.const(alpha, gradients.dtype)))


@lower("EluGrad")
def elu_grad(b, gradients, outputs):
    _check_same_shape(gradients, outputs)
    negative = b.Less(outputs, b.const(0, outputs.dtype))
    return b.Where(negative, b.Mul(b.Add(outputs, b.const(1, outputs.dtype)), gradients), gradients)


@lower("SigmoidGrad")
def sigmoid_grad(b, y, dy):
    _check_same_shape(y, dy)
    return b.Mul(b.Mul(dy, y), b.Sub(b.const(1, y.dtype), y))


@lower("TanhGrad")
def tanh_grad(b, y, dy):
    _check_same_shape(y, dy)
    return b.Mul(dy, b.Sub(b.const(1, y.dtype), b.Mul(y, y)))


@lower("SqrtGrad")
def sqrt_grad(b, y, dy):
    _check_same_shape(y, dy)
    return b.Div(b.Mul(dy, b.const(0.5, y.dtype)), y)


@lower("RsqrtGrad")
def rsqrt_grad(b, y, dy):
    _check_same_shape(y, dy)
    return b.Mul(b.Mul(b.Mul(b.Mul(dy, b.const(-0.5, y.dtype)), y), y), y)


@lower("InvGrad ReciprocalGrad")
def reciprocal_grad(b, y, dy):
    _check_same_shape(y, dy)
    return b.Mul(b.Mul(b.Neg(dy), y), y)


@lower("SoftplusGrad")
def softplus_grad(b, gradients, features):
    _check_same_shape(gradients, features)
    return b.Div(gradients, b.Add(b.Exp(b.Neg(features)), b.const(1, features.dtype)))


@lower("SoftsignGrad")
def softsign_grad(b, gradients, features):
    _check_same_shape(gradients, features)
    root = b.Add(b.Abs(features), b.const(1, features.dtype))
    return b.Div(gradients, b.Mul(root, root))


@lower("BiasAdd")
def bias_add(b, value, bias, *, data_format):
    return add_bias(b, value, bias, data_format)


@lower("BiasAddV1")
def bias_add_v1(b, value, bias):
    return add_bias(b, value, bias, "NHWC")


def add_bias(b: Builder, value: Operand, bias: Operand, data_format: str) -> Operand:
    """Add `bias` along the channels, with a check of its size, since ONNX would broadcast other sizes."""
    rank = rank_of(value)
    if rank < 2 or bias.rank != 1 or (rank < 3 and data_format != "NHWC"):
        raise CannotLower(f"the ranks are invalid for BiasAdd: {rank} and {bias.rank}")
    axis = 1 if data_format.startswith("NC") else rank - 1
    assert value.shape is not None
    assert bias.shape is not None
    if bias.shape[0] is None:
        raise CannotLower("the size of the bias is unknown")
    value = with_channels(b, value, axis, bias.shape[0])
    return b.Add(value, b.reshape(bias, -1, *[1] * (rank - axis - 1)) if axis < rank - 1 else bias)
