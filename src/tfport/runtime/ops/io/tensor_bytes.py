"""Tensors as TensorFlow's ops write them into strings: a TensorProto whose elements are raw bytes.

Strings among them are written as all lengths and then all bytes, unlike in files.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed, UnreadableFile
from tfport.formats.encoding.tensor import NUMPY, expand, to_numpy
from tfport.formats.encoding.varint import from_varint, to_varint
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
    """The array in a string, of the type that is expected."""
    from google.protobuf.message import DecodeError

    try:
        proto = pb.TensorProto.FromString(text)
        if proto.dtype != dtype.number:
            raise RunFailed(f"a tensor of type {DType.of(proto.dtype)} is written here; {dtype} is expected")
        if dtype == STRING and proto.tensor_content:
            return _strings(proto)
        return to_numpy(proto)
    except (DecodeError, UnreadableFile) as error:
        raise RunFailed(f"these {len(text)} bytes are no tensor: {error}") from None


def _strings(proto: pb.TensorProto) -> Any:
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    count = int(np.prod(shape, dtype=object)) if shape else 1
    data, at, lengths = proto.tensor_content, 0, []
    if min(shape, default=0) < 0 or count > len(data):
        raise UnreadableFile(f"{len(data)} bytes do not hold strings of shape {list(shape)}")
    try:
        for _ in range(count):
            length, at = from_varint(data, at)
            lengths.append(length)
    except ValueError:
        raise UnreadableFile("the lengths of strings break off") from None
    if at + sum(lengths) != len(data):
        raise UnreadableFile(f"strings of {sum(lengths)} bytes are written in {len(data) - at}")
    out = np.empty(count, object)
    for i, length in enumerate(lengths):
        out[i] = data[at : at + length]
        at += length
    return expand(out, shape, "string")
