"""Tensors between TensorFlow's C API and files: [dtype number, shape, file], elements as they lie in memory.

A file of strings holds their lengths, eight bytes each, and then the strings. Numbers of any
type are bytes to it: half and bfloat16 need nothing of their own. It needs the standard
library only.
"""

import ctypes
import itertools
import math
import struct
from pathlib import Path

from tensors import STRING, read_strings, strings


def to_tensor(tf, dtype: int, shape: list[int], content: bytes) -> int:
    """A new TF_Tensor with what a file holds."""
    if dtype == STRING:
        content = strings(tf, strings_in(content, math.prod(shape)))
    dims = (ctypes.c_int64 * len(shape))(*shape)
    tensor = tf.TF_AllocateTensor(dtype, dims, len(shape), ctypes.c_size_t(len(content)))
    ctypes.memmove(tf.TF_TensorData(ctypes.c_void_p(tensor)), content, len(content))
    return tensor


def strings_in(content: bytes, count: int) -> list[bytes]:
    sizes = struct.unpack_from(f"={count}Q", content)
    starts = itertools.accumulate(sizes, initial=8 * count)
    return [content[start : start + size] for start, size in zip(starts, sizes, strict=False)]


def with_lengths(elements: list[bytes]) -> bytes:
    """The content of a file of strings."""
    return struct.pack(f"={len(elements)}Q", *map(len, elements)) + b"".join(elements)


def from_tensor(tf, tensor: ctypes.c_void_p, file: Path) -> list:
    """Write what a TF_Tensor holds to a file."""
    tf.TF_TensorByteSize.restype = ctypes.c_size_t
    dtype = tf.TF_TensorType(tensor)
    shape = [tf.TF_Dim(tensor, axis) for axis in range(tf.TF_NumDims(tensor))]
    start = tf.TF_TensorData(tensor)
    if dtype == STRING:
        content = with_lengths(read_strings(tf, start, math.prod(shape)))
    else:
        size = tf.TF_TensorByteSize(tensor)
        content = ctypes.string_at(start, size) if size else b""
    file.write_bytes(content)
    return [dtype, shape, str(file)]
