"""Tensors as TensorFlow writes them: TensorProto to numpy and back.

A `TensorProto` holds its elements as raw bytes (`tensor_content`) or in a typed
list that may be shorter than the tensor: the last element then fills the rest.
Strings are `bytes` in object arrays. Quantized types are their plain integers.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb

NUMPY: dict[int, np.dtype[Any]] = {
    number: np.dtype(kind)
    for number, kind in {
        pb.DT_FLOAT: np.float32,
        pb.DT_DOUBLE: np.float64,
        pb.DT_INT32: np.int32,
        pb.DT_UINT8: np.uint8,
        pb.DT_INT16: np.int16,
        pb.DT_INT8: np.int8,
        pb.DT_STRING: object,
        pb.DT_COMPLEX64: np.complex64,
        pb.DT_INT64: np.int64,
        pb.DT_BOOL: np.bool_,
        pb.DT_QINT8: np.int8,
        pb.DT_QUINT8: np.uint8,
        pb.DT_QINT32: np.int32,
        pb.DT_BFLOAT16: ml_dtypes.bfloat16,
        pb.DT_QINT16: np.int16,
        pb.DT_QUINT16: np.uint16,
        pb.DT_UINT16: np.uint16,
        pb.DT_COMPLEX128: np.complex128,
        pb.DT_HALF: np.float16,
        pb.DT_UINT32: np.uint32,
        pb.DT_UINT64: np.uint64,
        pb.DT_FLOAT8_E5M2: ml_dtypes.float8_e5m2,
        pb.DT_FLOAT8_E4M3FN: ml_dtypes.float8_e4m3fn,
        pb.DT_FLOAT8_E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
        pb.DT_FLOAT8_E4M3B11FNUZ: ml_dtypes.float8_e4m3b11fnuz,
        pb.DT_FLOAT8_E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
        pb.DT_INT4: ml_dtypes.int4,
        pb.DT_UINT4: ml_dtypes.uint4,
        pb.DT_INT2: ml_dtypes.int2,
        pb.DT_UINT2: ml_dtypes.uint2,
        pb.DT_FLOAT4_E2M1FN: ml_dtypes.float4_e2m1fn,
    }.items()
}
"""The numpy type of each DataType that has elements of its own, by number."""

# Which typed list holds the elements, where raw bytes do not.
TYPED_LIST = {
    pb.DT_FLOAT: "float_val", pb.DT_DOUBLE: "double_val", pb.DT_STRING: "string_val",
    pb.DT_COMPLEX64: "scomplex_val", pb.DT_COMPLEX128: "dcomplex_val", pb.DT_INT64: "int64_val",
    pb.DT_BOOL: "bool_val", pb.DT_HALF: "half_val", pb.DT_BFLOAT16: "half_val",
    pb.DT_UINT32: "uint32_val", pb.DT_UINT64: "uint64_val",
    **dict.fromkeys(
        (pb.DT_FLOAT8_E5M2, pb.DT_FLOAT8_E4M3FN, pb.DT_FLOAT8_E4M3FNUZ, pb.DT_FLOAT8_E4M3B11FNUZ,
         pb.DT_FLOAT8_E5M2FNUZ, pb.DT_FLOAT4_E2M1FN), "float8_val"),
    **dict.fromkeys(
        (pb.DT_INT32, pb.DT_UINT8, pb.DT_INT16, pb.DT_INT8, pb.DT_QINT8, pb.DT_QUINT8, pb.DT_QINT32,
         pb.DT_QINT16, pb.DT_QUINT16, pb.DT_UINT16, pb.DT_INT4, pb.DT_UINT4, pb.DT_INT2, pb.DT_UINT2),
        "int_val"),
}  # fmt: skip
MOST_ELEMENTS = 2**40


def to_numpy(proto: pb.TensorProto) -> NDArray[Any]:
    """The array that a TensorProto says; read-only, and no larger in memory than its bytes."""
    kind = NUMPY.get(proto.dtype)
    if kind is None:
        raise UnreadableFile(f"a tensor of type {type_name(proto.dtype)} has no array of its own")
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if proto.tensor_shape.unknown_rank or min(shape, default=0) < 0 or math.prod(shape) > MOST_ELEMENTS:
        raise UnreadableFile(f"a {type_name(proto.dtype)} tensor says its shape is {list(shape)}")
    flat = from_content(proto.tensor_content, kind) if proto.tensor_content else from_list(proto, kind)
    return filled(flat, shape, type_name(proto.dtype))


def from_content(content: bytes, kind: np.dtype[Any]) -> NDArray[Any]:
    if kind == object or len(content) % kind.itemsize:
        raise UnreadableFile(f"{len(content)} bytes of tensor content are no whole number of {kind} elements")
    return np.frombuffer(content, kind)


def from_list(proto: pb.TensorProto, kind: np.dtype[Any]) -> NDArray[Any]:
    name = TYPED_LIST[proto.dtype]
    values = getattr(proto, name)
    if name == "half_val":  # bit patterns, one in each int32
        return np.array(values, np.int64).astype(np.uint16).view(kind)
    if name == "float8_val":
        return np.frombuffer(values, np.uint8).view(kind)
    if name in ("scomplex_val", "dcomplex_val"):  # real and imaginary parts in turn
        parts = np.array(values, np.float32 if kind.itemsize == 8 else np.float64)
        return parts[: len(parts) // 2 * 2].view(kind)
    if name == "string_val":
        out = np.empty(len(values), object)
        out[:] = list(values)
        return out
    return np.array(values, np.int64 if name == "int_val" else kind).astype(kind)


def filled(flat: NDArray[Any], shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """`flat` in this shape; where it is too short its last element stands for the rest."""
    size = math.prod(shape)
    if len(flat) > size:
        raise UnreadableFile(f"a {what} tensor of shape {list(shape)} holds {len(flat)} elements, not {size}")
    if len(flat) == size:
        out = flat.reshape(shape)
    elif len(flat) <= 1:  # one element, or none, which means zero: no memory for the copies
        blank: Any = b"" if flat.dtype == object else 0
        one = flat if len(flat) else np.array([blank]).astype(flat.dtype)
        out = np.broadcast_to(one.reshape((1,) * len(shape)), shape)
    else:
        out = np.concatenate([flat, np.broadcast_to(flat[-1:], size - len(flat))]).reshape(shape)
    out.flags.writeable = False
    return out


def from_numpy(array: NDArray[Any], dtype: int) -> pb.TensorProto:
    """The TensorProto of an array, as a tensor of type `dtype`."""
    proto = pb.TensorProto(dtype=dtype)
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if dtype == pb.DT_STRING:
        proto.string_val.extend(s if isinstance(s, bytes) else str(s).encode() for s in array.ravel())
    else:
        proto.tensor_content = np.ascontiguousarray(array, NUMPY[dtype]).tobytes()
    return proto


def type_name(number: int) -> str:
    """`DT_FLOAT` for 1; a number nobody knows stays a number."""
    return pb.DataType.Name(number) if number in pb.DataType.values() else f"DataType {number}"
