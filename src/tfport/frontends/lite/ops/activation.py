"""Activation functions and softmax of real numbers."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.activations import activate, clip
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value

OPS = {"LOGISTIC": "Sigmoid", "ELU": "Elu", "LOG_SOFTMAX": "LogSoftmax"}


@builtin("RELU RELU6 RELU_N1_TO_1 TANH")
def fused_too(b: OperatorBuilder, x: LiteValue) -> Value:
    """The activations that other operators may apply to their results."""
    return activate(b, x, b.operator.code.op)


@builtin("RELU_0_TO_1")
def relu_0_to_1(b: OperatorBuilder, x: LiteValue) -> Value:
    return clip(b, x, 0.0, 1.0)


@builtin("LOGISTIC ELU LOG_SOFTMAX")
def activation(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.node(OPS[b.operator.code.op], x)


@builtin("GELU")
def gelu(b: OperatorBuilder, x: LiteValue, *, approximate: bool) -> Node:
    if approximate:
        cubic = b.AddV2(x, b.Mul(b.Mul(b.Mul(x, x), x), 0.044715))
        return b.Mul(b.Mul(x, 0.5), b.AddV2(b.Tanh(b.Mul(cubic, 0.7978845608028654)), 1.0))
    return b.Mul(b.Mul(x, 0.5), b.AddV2(b.Erf(b.Mul(x, 0.7071067811865476)), 1.0))


@builtin("HARD_SWISH")
def hard_swish(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Mul(x, b.Mul(b.Relu6(b.AddV2(x, 3.0)), 1 / 6))


@builtin("LEAKY_RELU")
def leaky_relu(b: OperatorBuilder, x: LiteValue, *, alpha: float) -> Node:
    return b.LeakyRelu(x, alpha=alpha)


@builtin("PRELU")
def prelu(b: OperatorBuilder, x: LiteValue, slope: LiteValue) -> Node:
    return b.AddV2(b.Maximum(x, 0.0), b.Mul(slope, b.Minimum(x, 0.0)))


@builtin("SOFTMAX")
def softmax(b: OperatorBuilder, x: LiteValue, *, beta: float) -> Node:
    """Over the last axis, of `beta * x`."""
    return b.Softmax(x if beta == 1 else b.Mul(x, beta))


@builtin("FAKE_QUANT")
def fake_quant(b: OperatorBuilder, x: LiteValue, *, min: float, max: float, num_bits: int) -> Node:
    """Rounded to the steps of integers with so many bits, halves up; the bounds move to whole steps."""
    low, high, most = np.float32(min), np.float32(max), np.float32(2**num_bits - 1)
    step = (high - low) / most
    zero = np.clip(np.floor(-low / step + np.float32(0.5)), 0, most)
    first, last = -zero * step, (most - zero) * step
    steps = b.Mul(b.Sub(clip(b, x, float(first), float(last)), float(first)), float(np.float32(1) / step))
    return b.AddV2(b.Mul(b.Floor(b.AddV2(steps, 0.5)), float(step)), float(first))
