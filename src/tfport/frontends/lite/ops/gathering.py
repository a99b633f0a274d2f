"""Elements by their indices: gathered, scattered, or marked."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node, Value


@builtin("GATHER", any_type=True)
def gather(
    b: OperatorBuilder, x: LiteValue, indices: LiteValue, *, axis: int = 0, batch_dims: int = 0
) -> Node:
    return b.GatherV2(x, as_index(b, indices), axis, batch_dims=batch_dims)


@builtin("GATHER_ND", any_type=True)
def gather_nd(b: OperatorBuilder, x: LiteValue, indices: LiteValue) -> Node:
    return b.GatherNd(x, as_index(b, indices))


@builtin("SCATTER_ND", any_type=True)
def scatter_nd(b: OperatorBuilder, indices: LiteValue, updates: LiteValue, shape: LiteValue) -> Node:
    return b.ScatterNd(indices, updates, shape)


@builtin("SPARSE_TO_DENSE", any_type=True)
def sparse_to_dense(
    b: OperatorBuilder,
    indices: LiteValue,
    shape: LiteValue,
    values: LiteValue,
    default: LiteValue,
    *,
    validate_indices: bool = False,
) -> Node:
    return b.SparseToDense(indices, shape, values, default, validate_indices=False)


@builtin("ONE_HOT", any_type=True)
def one_hot(
    b: OperatorBuilder, indices: LiteValue, depth: LiteValue, on: LiteValue, off: LiteValue, *, axis: int = 0
) -> Node:
    return b.OneHot(indices, depth, on, off, axis=axis)


def as_index(b: OperatorBuilder, x: LiteValue) -> Value:
    """Integers of a type that TensorFlow's ops accept as indices."""
    return b.value(x) if x.dtype in (INT32, INT64) else b.cast(x, INT32)
