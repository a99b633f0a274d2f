"""Convert a TensorProto to a NumPy array and back.

A `TensorProto` stores its elements as raw bytes (`tensor_content`) or in a typed
list. A list that is shorter than the tensor is filled up with its last element.
Strings are `bytes` in object arrays. Quantized types are their plain integers.
"""

from __future__ import annotations

import functools
import math
import sys
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb

if TYPE_CHECKING:
    from numpy.typing import NDArray

# DataType, NumPy type, and the list of TensorProto for elements that are not raw bytes.
_ELEMENTS = """
FLOAT float32 float_val             | DOUBLE float64 double_val         | INT32 int32 int_val
UINT8 uint8 int_val                 | INT16 int16 int_val               | INT8 int8 int_val
STRING object string_val            | COMPLEX64 complex64 scomplex_val  | INT64 int64 int64_val
BOOL bool bool_val                  | QINT8 int8 int_val                | QUINT8 uint8 int_val
QINT32 int32 int_val                | BFLOAT16 bfloat16 half_val        | QINT16 int16 int_val
QUINT16 uint16 int_val              | UINT16 uint16 int_val             | COMPLEX128 complex128 dcomplex_val
HALF float16 half_val               | UINT32 uint32 uint32_val          | UINT64 uint64 uint64_val
FLOAT8_E5M2 float8_e5m2 float8_val  | FLOAT8_E4M3FN float8_e4m3fn float8_val
FLOAT8_E4M3FNUZ float8_e4m3fnuz float8_val
FLOAT8_E4M3B11FNUZ float8_e4m3b11fnuz float8_val
FLOAT8_E5M2FNUZ float8_e5m2fnuz float8_val
FLOAT4_E2M1FN float4_e2m1fn float8_val
INT4 int4 int_val                   | UINT4 uint4 int_val
INT2 int2 int_val                   | UINT2 uint2 int_val
"""
_ROWS = [
    (pb.DataType.Value(f"DT_{name}"), np.dtype(getattr(ml_dtypes, kind, kind)), field)
    for name, kind, field in (row.split() for row in _ELEMENTS.replace("|", "\n").split("\n") if row.strip())
]
NUMPY: dict[int, np.dtype[Any]] = {number: kind for number, kind, _ in _ROWS}
"""The NumPy type of each DataType that has elements, by number."""
TYPED_LIST: dict[int, str] = {number: field for number, _, field in _ROWS}
_FLOATS: dict[str, np.dtype[Any]] = {
    "float_val": np.dtype("<f4"), "double_val": np.dtype("<f8"),
    "scomplex_val": np.dtype("<f4"), "dcomplex_val": np.dtype("<f8"),
}  # fmt: skip
"""The lists whose elements are written as they are in memory."""
MANY = 256
MOST_ELEMENTS = 2**40
MOST_EXPANDED = 2**32
"""The most bytes that a short list may be expanded to."""
MOST_AXES = 32  # the limit of NumPy before version 2


def to_numpy(proto: pb.TensorProto) -> NDArray[Any]:
    """The elements of a TensorProto as a read-only array that takes no more memory than its bytes."""
    dtype = NUMPY.get(proto.dtype)
    name = type_name(proto.dtype)
    if dtype is None:
        raise UnreadableFile(f"a tensor of type {name} cannot be converted to an array")
    dims = proto.tensor_shape.dim
    if len(dims) > MOST_AXES:
        raise UnreadableFile(f"a {name} tensor must have at most {MOST_AXES} axes, found more")
    shape = tuple([dim.size for dim in dims])
    size = math.prod(shape)
    if proto.tensor_shape.unknown_rank or min(shape, default=0) < 0 or size > MOST_ELEMENTS:
        raise UnreadableFile(f"a {name} tensor has the invalid shape {list(shape)}")
    if size == 0:  # TensorFlow ignores what is stored (Tensor::FromProto)
        return expand(np.empty(0, dtype), shape, name)
    content = proto.tensor_content  # each access of the field is a copy
    if not content:
        return expand(from_list(proto, dtype), shape, name)
    flat = from_content(content, dtype)
    if len(flat) != size:
        raise UnreadableFile(
            f"a {name} tensor of shape {list(shape)} must have {size} elements, found {len(flat)}"
        )
    return expand(flat, shape, name)


def from_content(content: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The elements in raw bytes."""
    if dtype.hasobject or len(content) % dtype.itemsize:
        raise UnreadableFile(
            f"{len(content)} bytes of tensor content are not a multiple of the size of {dtype}"
        )
    return np.frombuffer(content, dtype)


def from_list(proto: pb.TensorProto, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The elements in the typed list."""
    name = TYPED_LIST[proto.dtype]
    values = getattr(proto, name)
    if name in _FLOATS and len(values) > MANY:
        parts = _packed(proto, name)
        return parts[: len(parts) // 2 * 2].view(dtype) if dtype.kind == "c" else parts
    if name != "float8_val":
        values = list(values)  # NumPy reads a list of Python much faster than one of protobuf
    if name == "half_val":  # bit patterns, one in each int32
        return np.array(values, np.int64).astype(np.uint16).view(dtype)
    if name == "float8_val":
        return np.frombuffer(values, np.uint8).view(dtype)
    if name in ("scomplex_val", "dcomplex_val"):  # real and imaginary parts in turn
        parts = np.array(values, np.float32 if dtype.itemsize == 8 else np.float64)
        return parts[: len(parts) // 2 * 2].view(dtype)
    if name == "string_val":
        out = np.empty(len(values), object)
        out[:] = values
        return out
    return np.array(values, np.int64 if name == "int_val" else dtype).astype(dtype, copy=False)


def _packed(proto: pb.TensorProto, name: str) -> NDArray[Any]:
    """A list of floats, from the bytes that it is written as: much faster than one by one."""
    from tfport.formats.encoding.wire import walk

    data = proto.SerializeToString()
    number = proto.DESCRIPTOR.fields_by_name[name].number
    (field,) = [field for field in walk(data).fields if field.number == number]
    dtype = _FLOATS[name]
    written: NDArray[Any] = np.frombuffer(data, dtype, field.size // dtype.itemsize, field.start)
    return written.astype(written.dtype.newbyteorder("="))  # a copy, as they may lie at any address


def expand(flat: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """`flat` in this shape, as TensorFlow reads lists: the last element is repeated, or the end ignored."""
    if math.prod(filter(None, shape)) * flat.itemsize > sys.maxsize:  # also if another size is 0
        raise UnreadableFile(f"a {name} tensor of shape {list(shape)} is too large")
    size = math.prod(shape)
    flat = flat[:size]
    if len(flat) == size:
        out = flat.reshape(shape)
    elif len(flat) <= 1:  # one element, or none, which means zero: no memory for the copies
        blank: Any = b"" if flat.dtype.hasobject else 0
        element = flat if len(flat) else np.array([blank]).astype(flat.dtype)
        out = np.broadcast_to(element.reshape((1,) * len(shape)), shape)
    elif size * flat.itemsize > MOST_EXPANDED:
        raise UnreadableFile(
            f"a {name} tensor of shape {list(shape)} is too large to expand from {len(flat)} elements"
        )
    else:
        out = np.concatenate([flat, np.broadcast_to(flat[-1:], size - len(flat))]).reshape(shape)
    out.flags.writeable = False
    return out


def from_numpy(array: NDArray[Any], dtype: int) -> pb.TensorProto:
    """An array as a TensorProto of type `dtype`."""
    proto = pb.TensorProto()
    write_array(array, dtype, proto)
    return proto


def write_array(array: NDArray[Any], dtype: int, proto: pb.TensorProto) -> None:
    """Write an array of type `dtype` into an empty TensorProto."""
    proto.MergeFrom(pb.TensorProto(dtype=type_name(dtype)))
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if dtype == pb.DT_STRING:
        proto.string_val.extend(s if isinstance(s, bytes) else str(s).encode() for s in array.ravel())
    else:
        proto.tensor_content = raw_elements(array, dtype).tobytes()


def raw_elements(array: NDArray[Any], dtype: int) -> memoryview:
    """The elements of an array as bytes of type `dtype`, copied only if they are not such bytes already."""
    return np.ascontiguousarray(array, NUMPY[dtype]).reshape(-1).view(np.uint8).data


@functools.lru_cache(256)
def type_name(number: int) -> str:
    """`DT_FLOAT` for 1; `DataType 99` for an unknown number."""
    return pb.DataType.Name(number) if number in pb.DataType.values() else f"DataType {number}"
