"""Products of tensors and norms."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.operations.linear import matrix_product, tensor_product
from tfport.frontends.keras.layers.tensorflow.function import tensors_of, tf_function
from tfport.frontends.keras.reductions import Axis, reduced
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import batch_matmul, transpose


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
