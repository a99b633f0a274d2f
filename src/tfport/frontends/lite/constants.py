"""Constant tensors: their element types, and their elements as plain numbers, packed integers or strings."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.lite.records import LiteFile, LiteTensor
from tfport.formats.lite.sparse import dense_array
from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_AXES, MOST_ELEMENTS = 64, 2**58
"""What an array can have."""


def has_data(file: LiteFile, tensor: LiteTensor) -> bool:
    """Whether a tensor is a constant."""
    return tensor.external_buffer > 0 or (tensor.buffer > 0 and len(file.buffers[tensor.buffer]) > 0)


def constant_array(file: LiteFile, tensor: LiteTensor) -> NDArray[Any]:
    """The elements of a constant; UnreadableFile if the file has another number of them."""
    size = _size(file, tensor)
    data = external_data(file, tensor) if tensor.external_buffer else file.buffers[tensor.buffer]
    if tensor.type == "STRING":
        return _strings(file, tensor, data, size)
    dtype = lite_dtype(tensor.type)
    assert dtype is not None
    if tensor.type in BITS:
        elements = _unpacked(data, BITS[tensor.type], tensor)
    else:
        elements = np.frombuffer(data, dtype.numpy, count=len(data) // dtype.numpy.itemsize)
    if tensor.sparsity:
        try:
            return dense_array(elements, tensor.shape, tensor.sparsity)
        except ValueError as error:
            raise _misfit(file, tensor, f"sparse elements that do not fit: {error}") from None
    if len(elements) < size:
        raise _misfit(file, tensor, f"{len(elements):,} elements")
    return elements[:size].reshape(tensor.shape)


def _size(file: LiteFile, tensor: LiteTensor) -> int:
    """The number of elements; UnreadableFile for a shape that no array has."""
    if len(tensor.shape) > MOST_AXES or math.prod(n for n in tensor.shape if n) > MOST_ELEMENTS:
        raise _misfit(file, tensor, "cannot have that many axes or elements")
    return math.prod(tensor.shape)


def external_data(file: LiteFile, tensor: LiteTensor) -> memoryview:
    """The bytes of a constant that is in another file, beside this one."""
    stored = next((b for b in file.external_buffers if b.get("id", 0) == tensor.external_buffer), None)
    groups, number = file.external_buffer_groups, (stored or {}).get("group", 0)
    name = groups[number].get("name", "") if number < len(groups) else ""
    if stored is None or not name or file.external is None:
        raise _misfit(file, tensor, f"the external buffer {tensor.external_buffer}, which is not described")
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts or "\\" in name:
        raise _misfit(file, tensor, f"its elements in `{name}`, which is not below the folder of the file")
    if stored.get("packing"):
        raise _misfit(file, tensor, f"an external buffer with the unknown packing {stored['packing']}")
    data = file.external(name)
    start, length = stored.get("offset", 0), stored.get("length", 0)
    if start + length > len(data):
        raise _misfit(file, tensor, f"{length:,} bytes from byte {start:,} of {name}, of {len(data):,} bytes")
    return data[start : start + length]


def _unpacked(data: bytes | memoryview, bits: int, tensor: LiteTensor) -> NDArray[Any]:
    """Integers of 2 or 4 bits, the first of a byte in its lowest bits."""
    packed = np.frombuffer(data, np.uint8)
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    elements = np.stack(parts, axis=-1).reshape(-1)
    if tensor.type.startswith("U"):
        return elements
    signed = elements.astype(np.int8)
    return np.where(signed >= 1 << (bits - 1), signed - (1 << bits), signed).astype(np.int8)


def _strings(file: LiteFile, tensor: LiteTensor, data: bytes | memoryview, size: int) -> NDArray[Any]:
    """A count, the offsets of all strings and of the end, then their bytes."""
    try:
        (count,) = struct.unpack_from("<i", data)
        offsets = struct.unpack_from(f"<{count + 1}i", data, 4) if 0 <= count <= len(data) // 4 else ()
    except struct.error:
        raise _misfit(file, tensor, f"{len(data)} bytes") from None
    if not offsets or count < size or any(not 0 <= a <= b <= len(data) for a, b in pairwise(offsets)):
        raise _misfit(file, tensor, f"{count} strings")
    out = np.empty(size, object)
    out[:] = [bytes(data[a:b]) for a, b in pairwise(offsets)][:size]
    return out.reshape(tensor.shape)


def _misfit(file: LiteFile, tensor: LiteTensor, have: str) -> UnreadableFile:
    return UnreadableFile(
        f"{file.where}: the constant `{tensor.name}` has the shape {list(tensor.shape)} and {have}; "
        "copy or convert the file again"
    )


# Element types

NAMES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "UINT8": "uint8", "INT64": "int64",
    "STRING": "string", "BOOL": "bool", "INT16": "int16", "COMPLEX64": "complex64", "INT8": "int8",
    "FLOAT64": "float64", "COMPLEX128": "complex128", "UINT64": "uint64", "RESOURCE": "resource",
    "VARIANT": "variant", "UINT32": "uint32", "UINT16": "uint16", "BFLOAT16": "bfloat16",
    # narrower integers are stored in packed form and computed in bytes
    "INT4": "int8", "INT2": "int8", "UINT4": "uint8",
    "FLOAT8_E4M3FN": "float8_e4m3fn", "FLOAT8_E5M2": "float8_e5m2",
}  # fmt: skip
BITS = {"INT4": 4, "UINT4": 4, "INT2": 2}
"""The types of which a byte has several elements."""


def lite_dtype(name: str) -> DType | None:
    """The element type of a graph for a type of the schema; None for an unknown one."""
    return DType.parse(NAMES[name]) if name in NAMES else None
