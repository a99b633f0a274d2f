"""Shapes of what the kernels of Examples, sparse and ragged tensors answer: mostly ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Dims, Operand

Shapes = list[Dims | None]
Attrs = dict[str, Any]
VECTOR: Dims = (None,)


def _sparse(rank: int, count: int) -> Shapes:
    """Indices, then values, then shapes of sparse tensors of one rank."""
    indices: Dims = (None, rank)
    return [*[indices] * count, *[VECTOR] * count, *[(rank,)] * count]


def _dense(attrs: Attrs, name: str, outer: Dims) -> Shapes:
    return [None if shape.dims is None else (*outer, *shape.dims) for shape in attrs[name]]


@shapes("ParseExample")
def parse_example(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    rows = inputs[0].shape or VECTOR
    return _sparse(2, len(attrs["sparse_types"])) + _dense(attrs, "dense_shapes", rows)


@shapes("ParseExampleV2")
def parse_example_v2(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    outer = inputs[0].shape
    sparse, ragged = len(attrs["sparse_types"]), len(attrs["ragged_value_types"])
    if outer is None:
        return [None] * (3 * sparse + len(attrs["dense_shapes"]) + 2 * ragged)
    dense = _dense(attrs, "dense_shapes", outer)
    return _sparse(1 + len(outer), sparse) + dense + [VECTOR] * (2 * ragged)


@shapes("ParseSingleExample")
def parse_single_example(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return _sparse(1, len(attrs["sparse_types"])) + _dense(attrs, "dense_shapes", ())


@shapes("ParseSequenceExample")
def parse_sequence_example(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    rows = inputs[0].shape or VECTOR
    return [
        *_sparse(2, len(attrs["context_sparse_types"])),
        *_dense(attrs, "context_dense_shapes", rows),
        *_sparse(3, len(attrs["feature_list_sparse_types"])),
        *_dense(attrs, "feature_list_dense_shapes", (*rows, None)),
        *[rows] * len(attrs["feature_list_dense_types"]),
    ]


@shapes("ParseSingleSequenceExample")
def parse_single_sequence_example(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [
        *_sparse(1, len(attrs["context_sparse_types"])),
        *_dense(attrs, "context_dense_shapes", ()),
        *_sparse(2, len(attrs["feature_list_sparse_types"])),
        *_dense(attrs, "feature_list_dense_shapes", VECTOR),
    ]


def _said(operand: Operand) -> Dims | None:
    """The shape that a vector of sizes says, as far as it is known."""
    if operand.known is not None and operand.rank == 1:
        return tuple(size if size is None or size >= 0 else None for size in operand.known)
    if operand.shape is None or len(operand.shape) != 1 or operand.shape[0] is None:
        return None
    return (None,) * operand.shape[0]


@shapes("SparseToDense")
def sparse_to_dense(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [_said(inputs[1])]


@shapes("RaggedTensorToTensor")
def ragged_to_tensor(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    said, values = _said(inputs[0]), inputs[1].shape
    types = attrs["row_partition_types"]
    if said is None and values is not None:
        levels = len(types) - (types[:1] == ["FIRST_DIM_SIZE"])
        said = (None,) * (1 + levels) + values[1:]
    return [said]


@shapes("SparseTensorDenseMatMul")
def sparse_mat_mul(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    shape, dense = _said(inputs[2]), inputs[3].shape
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
    found: Shapes = [(None, rank), VECTOR, (rank,)]
    return found[:2] if len(inputs) == 3 and "concat_dim" not in attrs else found  # SparseReorder


@shapes("RaggedGather RaggedTensorFromVariant")
def ragged_parts(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    splits: int = attrs["OUTPUT_RAGGED_RANK" if "OUTPUT_RAGGED_RANK" in attrs else "output_ragged_rank"]
    values = inputs[-2].shape if len(inputs) > 1 else None
    return [*[VECTOR] * splits, None if values is None else (None, *values[1:])]


@shapes("RaggedRange")
def ragged_range(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [VECTOR, VECTOR]


@shapes("BoostedTreesPredict")
def boosted_trees_predict(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [(None, attrs["logits_dimension"])]


@shapes("BoostedTreesBucketize")
def boosted_trees_bucketize(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [operand.shape for operand in inputs[: attrs["num_features"]]]
