"""Output shapes of sparse host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Dims, Operand

Shapes = list[Dims | None]
Attrs = dict[str, Any]
VECTOR: Dims = (None,)


def shape_from_sizes(operand: Operand) -> Dims | None:
    """The known part of the shape in a vector of sizes."""
    if operand.known is not None and operand.rank == 1:
        return tuple(size if size is None or size >= 0 else None for size in operand.known)
    if operand.shape is None or len(operand.shape) != 1 or operand.shape[0] is None:
        return None
    return (None,) * operand.shape[0]


@shapes("SparseToDense")
def sparse_to_dense(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [shape_from_sizes(inputs[1])]


@shapes("SparseTensorDenseMatMul")
def sparse_mat_mul(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    shape, dense = shape_from_sizes(inputs[2]), inputs[3].shape
    height = None if shape is None else shape[1 if attrs["adjoint_a"] else 0]
    width = None if dense is None else dense[0 if attrs["adjoint_b"] else 1]
    return [(height, width)]


@shapes("SparseTensorDenseAdd")
def sparse_dense_add(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [inputs[3].shape]


@shapes("SparseReshape")
def sparse_reshape(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    rank = (inputs[2].shape or VECTOR)[0]
    return [((inputs[0].shape or VECTOR)[0], rank), (rank,)]


@shapes("SparseFillEmptyRows")
def sparse_fill_empty_rows(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    rank = (inputs[2].shape or VECTOR)[0]
    return [(None, rank), VECTOR, VECTOR, inputs[1].shape]


@shapes("SparseReorder SparseSlice SparseConcat SparseAdd")
def sparse_like_the_first(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    indices = inputs[0].shape
    rank = indices[1] if indices is not None and len(indices) == 2 else None
    parts: Shapes = [(None, rank), VECTOR, (rank,)]
    return parts[:2] if len(inputs) == 3 and "concat_dim" not in attrs else parts  # SparseReorder
