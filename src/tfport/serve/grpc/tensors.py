"""Convert tensors of requests and responses between the wire format and arrays.

    array_of(request.inputs["x"])                           an array that shares the message's bytes
    write_tensor(response.outputs["y"], array, DT_FLOAT)    typed fields, as TensorFlow Serving fills them

`formats.encoding.tensor` defines what a `TensorProto` means (short lists, bit patterns). This module
avoids converting elements to Python numbers, and limits what clients can send.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import MOST_AXES, NUMPY, TYPED_LIST, expand, from_list, type_name
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_wire_pb2 as pb

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_FILLED = 2**28
"""Maximum bytes to expand a short list of elements to: small messages must not use much memory."""
AS_BYTES = ("float_val", "double_val", "scomplex_val", "dcomplex_val")

Array: TypeAlias = "NDArray[Any]"
NumpyType = np.dtype[Any]


def array_of(tensor: pb.TensorToRead, content: Array | None = None) -> Array:
    """Return the array of a tensor; it is read-only. `content`: its `tensor_content`, if that came apart."""
    dtype = NUMPY.get(tensor.dtype)
    if dtype is None:
        raise UnreadableFile(f"tensors of type {type_name(tensor.dtype)} cannot be sent")
    name = _NAMES[tensor.dtype]
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim[: MOST_AXES + 1])
    if tensor.tensor_shape.unknown_rank or min(shape, default=0) < 0 or len(shape) > MOST_AXES:
        raise UnreadableFile(f"invalid shape {list(shape[:MOST_AXES])} of a {name} tensor")
    size = math.prod(shape)
    raw = tensor.tensor_content if content is None else content  # each access of the field is a copy
    flat = _raw_elements(raw, dtype) if len(raw) else _elements(tensor, dtype)
    if len(raw) and len(flat) != size:
        raise UnreadableFile(f"{len(raw)} bytes do not fit a {name} tensor of shape {list(shape)}")
    if len(flat) < size and size * dtype.itemsize > MOST_FILLED:
        raise UnreadableFile(f"a {name} tensor of shape {list(shape)} has only {len(flat)} elements")
    return expand(flat, shape, name)


def write_tensor(out: pb.TensorToWrite, array: Array, dtype: int, *, content: bool = False) -> None:
    """Fill a tensor: its elements in the field of their type, or as raw `tensor_content`."""
    if NUMPY.get(dtype) != array.dtype:  # the signature declares another type than the model returns
        dtype = _NUMBERS[array.dtype]
    out.dtype = dtype
    out.tensor_shape.SetInParent()
    for size in array.shape:
        out.tensor_shape.dim.add(size=size)
    if dtype == graph_pb2.DT_STRING:
        out.string_val.extend(array.ravel().tolist())
    elif content:
        out.tensor_content = array.tobytes()
    elif array.size:
        field = TYPED_LIST[dtype]
        setattr(out, field, _WRITERS.get(field, _raw)(array.ravel()))


def _elements(tensor: pb.TensorToRead, dtype: NumpyType) -> Array:
    field = TYPED_LIST[tensor.dtype]
    if field not in AS_BYTES:
        return from_list(tensor, dtype)  # type: ignore[arg-type]  # fields that both messages have
    if len(UnknownFieldSet(tensor)):  # perhaps an unpacked list: rare, but valid protobuf
        return from_list(_parsed(tensor), dtype)
    chunks = getattr(tensor, field)
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    # drop an incomplete complex number at the end
    return _raw_elements(
        data[: len(data) // dtype.itemsize * dtype.itemsize] if "complex" in field else data, dtype
    )


def _parsed(tensor: pb.TensorToRead) -> graph_pb2.TensorProto:
    try:
        return graph_pb2.TensorProto.FromString(tensor.SerializeToString())
    except DecodeError:
        raise UnreadableFile(f"invalid elements of a {type_name(tensor.dtype)} tensor") from None


def _raw_elements(data: bytes | Array, dtype: NumpyType) -> Array:
    if dtype.hasobject or len(data) % dtype.itemsize:
        raise UnreadableFile(f"{len(data)} bytes are not a whole number of {dtype} elements")
    if dtype == np.bool_:  # normalize: a bool byte other than 0 or 1 is invalid in numpy
        return np.frombuffer(data, np.uint8).astype(np.bool_)
    return np.frombuffer(data, dtype)


def _raw(array: Array) -> bytes:
    return array.tobytes()


def _numbers(array: Array) -> bytes:
    return write_varints(array.astype(np.int64).view(np.uint64))


_WRITERS: dict[str, Callable[[Array], bytes]] = {
    "int_val": _numbers,
    "int64_val": _numbers,
    "uint32_val": _numbers,
    "uint64_val": lambda array: write_varints(array.astype(np.uint64)),
    "half_val": lambda array: write_varints(array.view(np.uint16).astype(np.uint64)),
}
_NAMES = {number: type_name(number) for number in NUMPY}
_NUMBERS: dict[NumpyType, int] = {}
for _number, _dtype in NUMPY.items():
    _NUMBERS.setdefault(_dtype, _number)


# Packed lists of integers as protobuf varints: seven bits per byte, low bits first

MORE, LOW, BITS = 0x80, 0x7F, 7
CHUNK = 1 << 15
"""Numbers per chunk, small enough for the processor's cache."""


def write_varints(numbers: NDArray[np.uint64]) -> bytes:
    """Return the bytes of a packed list."""
    if not numbers.size or numbers.max() < MORE:
        return numbers.astype(np.uint8).tobytes()
    parts = (numbers[at : at + CHUNK] for at in range(0, len(numbers), CHUNK))
    return b"".join(map(_written, parts))


def _written(numbers: NDArray[np.uint64]) -> bytes:
    """Write all numbers with the length of the longest, a byte of each at a time; drop unused bytes."""
    longest = max(1, -(-int(numbers.max()).bit_length() // BITS))
    octets: NDArray[np.uint8] = np.empty((len(numbers), longest), np.uint8)
    kept: NDArray[Any] = np.empty((len(numbers), longest), np.bool_)
    left = numbers.copy()
    kept[:, 0] = True
    for index in range(longest):
        octets[:, index] = left.astype(np.uint8) & LOW
        left >>= np.uint64(BITS)
        more = left > 0
        octets[:, index] |= more.astype(np.uint8) << BITS
        if index + 1 < longest:
            kept[:, index + 1] = more
    compact: NDArray[np.uint8] = octets[kept]
    return compact.tobytes()
