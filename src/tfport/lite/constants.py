"""The elements of constant tensors: plain numbers, packed small integers, and strings."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.lite.records import LiteFile, LiteTensor
from tfport.lite.dtypes import BITS, lite_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


def has_data(file: LiteFile, tensor: LiteTensor) -> bool:
    """Whether a tensor is a constant."""
    return tensor.external_buffer > 0 or (tensor.buffer > 0 and len(file.buffers[tensor.buffer]) > 0)


def constant_array(file: LiteFile, tensor: LiteTensor) -> NDArray[Any]:
    """The elements of a constant; UnreadableFile if the file has another number of them."""
    data = file.buffers[tensor.buffer]
    if tensor.type == "STRING":
        return _strings(file, tensor, data)
    dtype = lite_dtype(tensor.type)
    assert dtype is not None
    if tensor.type in BITS:
        elements = _unpacked(data, BITS[tensor.type], tensor)
    else:
        elements = np.frombuffer(data, dtype.numpy, count=len(data) // dtype.numpy.itemsize)
    size = int(np.prod(tensor.shape, dtype=np.int64))
    if len(elements) < size:
        raise _misfit(file, tensor, f"{len(elements):,} elements")
    return elements[:size].reshape(tensor.shape)


def _unpacked(data: bytes | memoryview, bits: int, tensor: LiteTensor) -> NDArray[Any]:
    """Integers of 2 or 4 bits, the first of a byte in its lowest bits."""
    packed = np.frombuffer(data, np.uint8)
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    elements = np.stack(parts, axis=-1).reshape(-1)
    if tensor.type.startswith("U"):
        return elements
    signed = elements.astype(np.int8)
    return np.where(signed >= 1 << (bits - 1), signed - (1 << bits), signed).astype(np.int8)


def _strings(file: LiteFile, tensor: LiteTensor, data: bytes | memoryview) -> NDArray[Any]:
    """A count, the offsets of all strings and of the end, then their bytes."""
    size = int(np.prod(tensor.shape, dtype=np.int64))
    try:
        (count,) = struct.unpack_from("<i", data)
        offsets = struct.unpack_from(f"<{count + 1}i", data, 4) if 0 <= count <= len(data) // 4 else ()
    except struct.error:
        raise _misfit(file, tensor, f"{len(data)} bytes") from None
    if count < size or any(not 0 <= a <= b <= len(data) for a, b in pairwise(offsets)):
        raise _misfit(file, tensor, f"{count} strings")
    out = np.empty(size, object)
    out[:] = [bytes(data[a:b]) for a, b in pairwise(offsets)][:size]
    return out.reshape(tensor.shape)


def _misfit(file: LiteFile, tensor: LiteTensor, have: str) -> UnreadableFile:
    return UnreadableFile(
        f"{file.where}: the constant `{tensor.name}` has the shape {list(tensor.shape)} and {have}; "
        "copy or convert the file again"
    )
