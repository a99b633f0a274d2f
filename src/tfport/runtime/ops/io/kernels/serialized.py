"""Tensors and sparse tensors as strings and back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.encoding.tensor import from_numpy
from tfport.graph.dtypes import INT64, STRING, DType
from tfport.runtime.lower import host
from tfport.runtime.ops.io.tensor_bytes import from_bytes, to_bytes
from tfport.runtime.ops.sparse.coordinates import checked, sorted_order


@host("SerializeTensor")
def serialize_tensor(tensor, *, T):
    if T != STRING:
        return to_bytes(tensor, T)
    proto = from_numpy(tensor, T.number)  # strings are written as in files
    proto.tensor_shape.SetInParent()
    return proto.SerializeToString()


@host("ParseTensor")
def parse_tensor(serialized, *, out_type):
    if serialized.ndim:
        raise RunFailed(f"one serialized tensor is a scalar; its shape is {serialized.shape}")
    return from_bytes(serialized.item(), out_type)


class Held:
    """A tensor as an element of a variant tensor."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def _written(indices: Any, values: Any, shape: Any, T: DType, out_type: DType) -> Any:
    out = np.empty(3, object)
    if out_type == STRING:
        out[:] = [to_bytes(indices, INT64), to_bytes(values, T), to_bytes(shape, INT64)]
    else:
        out[:] = [Held(indices), Held(values), Held(shape)]
    return out


@host("SerializeSparse")
def serialize_sparse(sparse_indices, sparse_values, sparse_shape, *, T, out_type):
    checked(sparse_indices, sparse_values, sparse_shape)
    return _written(sparse_indices, sparse_values, sparse_shape, T, out_type)


@host("SerializeManySparse")
def serialize_many_sparse(sparse_indices, sparse_values, sparse_shape, *, T, out_type):
    parts = split_rows(sparse_indices, sparse_values, sparse_shape)
    out = np.empty((len(parts), 3), object)
    for i, part in enumerate(parts):
        out[i] = _written(*part, T, out_type)
    return out


def split_rows(indices: Any, values: Any, shape: Any) -> list[tuple[Any, Any, Any]]:
    """The rows of a sparse tensor as sparse tensors of one axis less."""
    dims = checked(indices, values, shape)
    if len(dims) < 2:
        raise RunFailed(f"a sparse tensor of rank {len(dims)} has no rows that are sparse tensors")
    rows = indices[:, 0]
    if len(rows) and (rows.min() < 0 or rows.max() >= dims[0]):
        raise RunFailed(f"a row of the sparse tensor is outside of its {dims[0]}")
    if (rows[1:] < rows[:-1]).any():
        raise RunFailed("the rows of the sparse tensor are out of order")
    bounds = np.searchsorted(rows, np.arange(dims[0] + 1)).tolist()
    return [(indices[a:b, 1:], values[a:b], shape[1:]) for a, b in pairwise(bounds)]


@host("DeserializeSparse", Tserialized=(STRING,))
def deserialize_sparse(serialized_sparse, *, dtype, Tserialized):
    return _joined(serialized_sparse, dtype)


@host("DeserializeSparse")
def deserialize_sparse_variant(serialized_sparse, *, dtype, Tserialized):
    return _joined(serialized_sparse, dtype)


@host("DeserializeManySparse")
def deserialize_many_sparse(serialized_sparse, *, dtype):
    if serialized_sparse.ndim != 2:
        raise RunFailed(f"serialized sparse tensors come as a matrix; its shape is {serialized_sparse.shape}")
    return _joined(serialized_sparse, dtype)


def _joined(serialized: Any, dtype: DType) -> Any:
    if serialized.ndim == 0 or serialized.shape[-1] != 3:
        raise RunFailed(f"a serialized sparse tensor is three strings; the shape is {serialized.shape}")
    outer = serialized.shape[:-1]
    if 0 in outer:
        raise RunFailed("no sparse tensor was given, so that nothing tells its shape")
    parts = [_read(row, dtype) for row in serialized.reshape(-1, 3)]
    if not outer:
        return parts[0]
    return stacked(parts, outer)


def stacked(parts: list[tuple[Any, Any, Any]], outer: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Sparse tensors of one rank as one of a higher, as large as the largest of them."""
    ranks = {len(shape) for _, _, shape in parts}
    if len(ranks) > 1:
        raise RunFailed(f"sparse tensors of ranks {sorted(ranks)} cannot be stacked")
    where = np.array(list(np.ndindex(*outer)), np.int64).reshape(-1, len(outer))
    indices = [
        np.concatenate([np.broadcast_to(at, (len(inner), len(outer))), inner], 1)
        for at, (inner, _, _) in zip(where, parts, strict=True)
    ]
    shape = np.max([shape for _, _, shape in parts], axis=0)
    joined = np.concatenate(indices)
    order = sorted_order(joined)
    values = np.concatenate([values for _, values, _ in parts])
    return joined[order], values[order], np.concatenate([outer, shape]).astype(np.int64)


def _read(row: Any, dtype: DType) -> tuple[Any, Any, Any]:
    kinds = (INT64, dtype, INT64)
    indices, values, shape = (
        one.array if isinstance(one, Held) else from_bytes(one, kind)
        for one, kind in zip(row, kinds, strict=True)
    )
    checked(indices, values, shape)
    return indices, values, shape
