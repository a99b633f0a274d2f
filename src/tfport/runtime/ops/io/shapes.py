"""Output shapes of the ops that parse Examples and SequenceExamples."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.sparse.shapes import VECTOR, Attrs, Shapes


def _sparse(rank: int, count: int) -> Shapes:
    """The indices, values and shapes of `count` sparse tensors of the same rank."""
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
