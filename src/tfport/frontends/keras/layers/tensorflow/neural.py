"""Functions of neural networks: activations, softmax, normalization."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras import activations, softmax
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tf_function
from tfport.frontends.keras.reductions import Axis, reduced, variance
from tfport.frontends.keras.tensor import LayerTensor


@tf_function("nn.softmax math.softmax compat.v1.nn.softmax")
def softmax_function(
    b: LayerBuilder, logits: LayerTensor, axis: int | None = None, dim: int | None = None
) -> LayerTensor:
    place = dim if axis is None else axis
    return softmax.softmax(b, logits, axis=-1 if place is None else place)


@tf_function("nn.log_softmax math.log_softmax compat.v1.nn.log_softmax")
def log_softmax(
    b: LayerBuilder, logits: LayerTensor, axis: int | None = None, dim: int | None = None
) -> LayerTensor:
    place = dim if axis is None else axis
    return softmax.log_softmax(b, logits, axis=-1 if place is None else place)


@tf_function("nn.leaky_relu")
def leaky_relu(b: LayerBuilder, features: LayerTensor, alpha: float = 0.2) -> LayerTensor:
    return b.LeakyRelu(features, alpha=float(alpha))


@tf_function("nn.gelu")
def gelu(b: LayerBuilder, features: LayerTensor, approximate: bool = False) -> LayerTensor:
    return activations.gelu(b, features, approximate=approximate)


@tf_function("nn.silu nn.swish")
def silu(b: LayerBuilder, features: LayerTensor, beta: float = 1.0) -> LayerTensor:
    return b.Mul(features, b.Sigmoid(features if beta == 1.0 else b.Mul(features, beta)))


@tf_function("math.log_sigmoid nn.log_sigmoid")
def log_sigmoid(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Neg(b.Softplus(b.Neg(x)))


@tf_function("nn.bias_add")
def bias_add(b: LayerBuilder, value: LayerTensor, bias: Any, data_format: str | None = None) -> LayerTensor:
    if data_format and data_format.startswith("NC"):
        raise b.refuse("it adds a bias to channels that come first")
    return b.Add(value, bias)


@tf_function("math.l2_normalize nn.l2_normalize linalg.l2_normalize compat.v1.nn.l2_normalize")
def l2_normalize(
    b: LayerBuilder, x: LayerTensor, axis: Axis = None, epsilon: float = 1e-12, dim: Axis = None
) -> LayerTensor:
    total = reduced(b, "Sum", b.Square(x), dim if axis is None else axis, True)
    return b.Mul(x, b.Rsqrt(b.Maximum(total, epsilon)))


@tf_function("nn.moments compat.v1.nn.moments")
def moments(
    b: LayerBuilder,
    x: LayerTensor,
    axes: Axis,
    shift: Any = None,
    keepdims: bool | None = None,
    keep_dims: bool | None = None,
) -> list[LayerTensor]:
    keep = keepdims or keep_dims
    return [reduced(b, "Mean", x, axes, keep), variance(b, x, axes, keep)]
