"""Serialization of tensors and sparse tensors to strings or variants, and back."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tfport.errors import RunFailed, UnreadableFile
from tfport.formats.encoding.tensor import NUMPY, expand, from_numpy, to_numpy
from tfport.formats.encoding.wire import from_varint, to_varint
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import INT64, STRING, DType
from tfport.runtime.bounds.output_sizes import POINTER
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.coordinates import checked, sorted_order


@host("SerializeTensor")
def serialize_tensor(tensor, *, T):
    if T != STRING:
        return to_bytes(tensor, T)
    proto = from_numpy(tensor, T.number)  # strings are serialized as in files
    proto.tensor_shape.SetInParent()
    return proto.SerializeToString()


@host("ParseTensor")
def parse_tensor(serialized, *, out_type):
    if serialized.ndim:
        raise RunFailed(f"serialized must be a scalar, found shape {serialized.shape}")
    return from_bytes(serialized.item(), out_type)


class SerializedPart:
    """A tensor as an element of a variant tensor."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def _serialize(indices: Any, values: Any, shape: Any, T: DType, out_type: DType) -> Any:
    out = np.empty(3, object)
    if out_type == STRING:
        out[:] = [to_bytes(indices, INT64), to_bytes(values, T), to_bytes(shape, INT64)]
    else:
        out[:] = [SerializedPart(indices), SerializedPart(values), SerializedPart(shape)]
    return out


@host("SerializeSparse")
def serialize_sparse(sparse_indices, sparse_values, sparse_shape, *, T, out_type):
    checked(sparse_indices, sparse_values, sparse_shape)
    return _serialize(sparse_indices, sparse_values, sparse_shape, T, out_type)


@host("SerializeManySparse")
def serialize_many_sparse(sparse_indices, sparse_values, sparse_shape, *, T, out_type):
    parts = split_rows(sparse_indices, sparse_values, sparse_shape)
    out = np.empty((len(parts), 3), object)
    for i, part in enumerate(parts):
        out[i] = _serialize(*part, T, out_type)
    return out


def split_rows(indices: Any, values: Any, shape: Any) -> list[tuple[Any, Any, Any]]:
    """Split a sparse tensor along its first axis."""
    dims = checked(indices, values, shape)
    if len(dims) < 2:
        raise RunFailed(f"the sparse tensor must have rank 2 or more, found rank {len(dims)}")
    rows = indices[:, 0]
    if len(rows) and (rows.min() < 0 or rows.max() >= dims[0]):
        raise RunFailed(
            f"row indices of the sparse tensor must be at least 0 and less than {dims[0]}, "
            f"found {rows.min()} to {rows.max()}"
        )
    if (rows[1:] < rows[:-1]).any():
        raise RunFailed("row indices of the sparse tensor must not decrease")
    bounds = np.searchsorted(rows, np.arange(dims[0] + 1)).tolist()
    return [(indices[a:b, 1:], values[a:b], shape[1:]) for a, b in pairwise(bounds)]


@host("DeserializeSparse", Tserialized=(STRING,))
def deserialize_sparse(serialized_sparse, *, dtype, Tserialized):
    return _deserialize(serialized_sparse, dtype)


@host("DeserializeSparse")
def deserialize_sparse_variant(serialized_sparse, *, dtype, Tserialized):
    return _deserialize(serialized_sparse, dtype)


@host("DeserializeManySparse")
def deserialize_many_sparse(serialized_sparse, *, dtype):
    if serialized_sparse.ndim != 2:
        raise RunFailed(f"serialized_sparse must be a matrix, found shape {serialized_sparse.shape}")
    return _deserialize(serialized_sparse, dtype)


def _deserialize(serialized: Any, dtype: DType) -> Any:
    if serialized.ndim == 0 or serialized.shape[-1] != 3:
        raise RunFailed(
            f"the last axis of serialized_sparse must have size 3, found shape {serialized.shape}"
        )
    outer = serialized.shape[:-1]
    if 0 in outer:
        raise RunFailed("serialized_sparse must not be empty: the dense shape would be unknown")
    parts = [_read(row, dtype) for row in serialized.reshape(-1, 3)]
    if not outer:
        return parts[0]
    return stacked(parts, outer)


def stacked(parts: list[tuple[Any, Any, Any]], outer: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Stack sparse tensors of the same rank; each axis is as large as the largest of them."""
    ranks = {len(shape) for _, _, shape in parts}
    if len(ranks) > 1:
        raise RunFailed(f"sparse tensors must have the same rank, found ranks {sorted(ranks)}")
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
    dtypes = (INT64, dtype, INT64)
    indices, values, shape = (
        part.array if isinstance(part, SerializedPart) else from_bytes(part, part_dtype)
        for part, part_dtype in zip(row, dtypes, strict=True)
    )
    checked(indices, values, shape)
    return indices, values, shape


# Tensors serialized into strings as by TensorFlow's ops: a TensorProto with raw bytes.
#
# Unlike in files, strings are serialized as all lengths followed by all bytes.


def to_bytes(array: Any, dtype: DType) -> bytes:
    proto = pb.TensorProto(dtype=dtype.tf)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if dtype == STRING:
        flat = array.reshape(-1).tolist()
        proto.tensor_content = b"".join(to_varint(len(s)) for s in flat) + b"".join(flat)
    else:
        proto.tensor_content = np.ascontiguousarray(array, NUMPY[dtype.number]).tobytes()
    return proto.SerializeToString()


def from_bytes(text: bytes, dtype: DType) -> Any:
    """Parse a serialized tensor, which must have this type."""
    from google.protobuf.message import DecodeError

    try:
        proto = pb.TensorProto.FromString(text)
        if proto.dtype != dtype.number:
            raise RunFailed(f"the serialized tensor must have type {dtype}, found {DType.of(proto.dtype)}")
        if dtype == STRING and proto.tensor_content:
            return _strings(proto)
        sizes = [max(dim.size, 0) for dim in proto.tensor_shape.dim]
        reserve_memory(prod(sizes) * (POINTER if dtype == STRING else dtype.numpy.itemsize))
        return to_numpy(proto)
    except (DecodeError, UnreadableFile) as error:
        raise RunFailed(f"not a valid serialized tensor ({len(text)} bytes): {error}") from None


def _strings(proto: pb.TensorProto) -> Any:
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    count = int(np.prod(shape, dtype=object)) if shape else 1
    data, at, lengths = proto.tensor_content, 0, []
    if min(shape, default=0) < 0 or count > len(data):
        raise UnreadableFile(f"{len(data)} bytes are too few for strings of shape {list(shape)}")
    try:
        for _ in range(count):
            length, at = from_varint(data, at)
            lengths.append(length)
    except ValueError:
        raise UnreadableFile("the lengths of the strings are truncated") from None
    if at + sum(lengths) != len(data):
        raise UnreadableFile(f"the strings must have {sum(lengths)} bytes, found {len(data) - at}")
    out = np.empty(count, object)
    for i, length in enumerate(lengths):
        out[i] = data[at : at + length]
        at += length
    return expand(out, shape, "string")
