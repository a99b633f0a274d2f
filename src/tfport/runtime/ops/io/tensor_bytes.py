"""Tensors serialized into strings as by TensorFlow's ops: a TensorProto with raw bytes.

Unlike in files, strings are serialized as all lengths followed by all bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed, UnreadableFile
from tfport.formats.encoding.tensor import NUMPY, expand, to_numpy
from tfport.formats.encoding.wire import from_varint, to_varint
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import STRING, DType


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
