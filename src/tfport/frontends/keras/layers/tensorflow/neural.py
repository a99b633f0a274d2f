"""Functions of neural networks: activations, softmax, normalization, products and norms of tensors."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras import activations, reductions
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.operations.linear import matrix_product, tensor_product
from tfport.frontends.keras.layers.tensorflow.function import tensors_of, tf_function
from tfport.frontends.keras.reductions import Axis, reduced, variance
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import batch_matmul, transpose


@tf_function("nn.softmax math.softmax compat.v1.nn.softmax")
def softmax_function(
    b: LayerBuilder, logits: LayerTensor, axis: int | None = None, dim: int | None = None
) -> LayerTensor:
    chosen = dim if axis is None else axis
    return reductions.softmax(b, logits, axis=-1 if chosen is None else chosen)


@tf_function("nn.log_softmax math.log_softmax compat.v1.nn.log_softmax")
def log_softmax(
    b: LayerBuilder, logits: LayerTensor, axis: int | None = None, dim: int | None = None
) -> LayerTensor:
    chosen = dim if axis is None else axis
    return reductions.log_softmax(b, logits, axis=-1 if chosen is None else chosen)


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


# Products and norms


@tf_function("linalg.norm norm")
def norm(
    b: LayerBuilder, tensor: LayerTensor, ord: Any = "euclidean", axis: Axis = None, keepdims: bool = False
) -> LayerTensor:
    if ord in ("euclidean", "fro") or (ord == 2 and isinstance(axis, int)):
        return b.Sqrt(reduced(b, "Sum", b.Square(tensor), axis, keepdims))
    if ord == 1 and isinstance(axis, int):
        return reduced(b, "Sum", b.Abs(tensor), axis, keepdims)
    raise b.refuse(f"it computes the norm `{ord}`, which tfport does not do")


@tf_function("linalg.matmul matmul")
def matmul(
    builder: LayerBuilder,
    a: LayerTensor,
    b: LayerTensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
) -> LayerTensor:
    left, right = tensors_of(builder, [a, b])
    if transpose_a or transpose_b or adjoint_a or adjoint_b:
        first, second = transpose_a or adjoint_a, transpose_b or adjoint_b
        return batch_matmul(builder, left, right, adj_x=first, adj_y=second)
    return matrix_product(builder, left, right)


@tf_function("tensordot")
def tensordot(builder: LayerBuilder, a: LayerTensor, b: LayerTensor, axes: Any) -> LayerTensor:
    left, right = tensors_of(builder, [a, b])
    return tensor_product(builder, left, right, axes)


@tf_function("linalg.matrix_transpose")
def matrix_transpose(b: LayerBuilder, a: LayerTensor, conjugate: bool = False) -> LayerTensor:
    return transpose(b, a, [*range(a.rank - 2), a.rank - 1, a.rank - 2])


@tf_function("einsum")
def einsum(b: LayerBuilder, equation: str) -> LayerTensor:
    raise b.refuse(
        f"the tensors that `tf.einsum` multiplies by `{equation}` are not in the file: Keras 2 loses them"
    )
