"""Create and read tensors of TensorFlow's C API: [dtype number, shape, elements].

Strings have the memory layout of the loaded release. It needs only the standard library.
"""

import ctypes
import itertools
import math
import struct

STRING = 7
CODES = {
    1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 17: "H", 19: "e", 22: "I", 23: "Q",
}  # fmt: skip
"""The `struct` format of each numeric DataType."""
TSTRING = 24
"""Size of a tstring in bytes; its two lowest bits are its kind."""
LONGEST_SMALL = 22
LARGE, OFFSET, VIEW = 1, 2, 3
KEPT: list = []
"""Buffers that tensors point to; kept until the process ends."""


def to_tensor(tf, dtype: int, shape: list[int], elements: list) -> int:
    content = strings(tf, [e.encode() for e in elements]) if dtype == STRING else numbers(dtype, elements)
    dims = (ctypes.c_int64 * len(shape))(*shape)
    tensor = tf.TF_AllocateTensor(dtype, dims, len(shape), ctypes.c_size_t(len(content)))
    ctypes.memmove(tf.TF_TensorData(ctypes.c_void_p(tensor)), content, len(content))
    return tensor


def numbers(dtype: int, elements: list) -> bytes:
    return struct.pack(f"={len(elements)}{CODES[dtype]}", *elements)


def strings(tf, elements: list[bytes]) -> bytes:
    """Return string elements in the memory layout of the release."""
    if encodes(tf):
        parts = [varint(len(e)) + e for e in elements]
        offsets = [0, *itertools.accumulate(map(len, parts))][: len(parts)]
        return struct.pack(f"={len(parts)}Q", *offsets) + b"".join(parts)
    return b"".join(tstring(e) for e in elements)


def encodes(tf) -> bool:
    """Whether a tensor has offsets and strings with a length prefix (until 2.3), instead of tstrings."""
    return hasattr(tf, "TF_StringEncode")


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def tstring(content: bytes) -> bytes:
    """Return a tstring: a small one contains its characters; a view points to them.

    Both end in a zero, as some kernels read until there.
    """
    if len(content) <= LONGEST_SMALL:
        return (bytes([len(content) << 2]) + content).ljust(TSTRING, b"\0")
    KEPT.append(ctypes.create_string_buffer(content))
    return struct.pack("=QQQ", len(content) << 2 | VIEW, ctypes.addressof(KEPT[-1]), 0)


def from_tensor(tf, tensor: ctypes.c_void_p) -> list:
    dtype, rank = tf.TF_TensorType(tensor), tf.TF_NumDims(tensor)
    shape = [tf.TF_Dim(tensor, axis) for axis in range(rank)]
    start, count = tf.TF_TensorData(tensor), math.prod(shape)
    if dtype == STRING:
        return [dtype, shape, [s.decode(errors="replace") for s in read_strings(tf, start, count)]]
    form = f"={count}{CODES[dtype]}"
    return [dtype, shape, list(struct.unpack(form, ctypes.string_at(start, struct.calcsize(form))))]


def read_strings(tf, start: int, count: int) -> list[bytes]:
    if encodes(tf):
        offsets = struct.unpack(f"={count}Q", ctypes.string_at(start, 8 * count))
        return [read_encoded(start + 8 * count + offset) for offset in offsets]
    return [read_tstring(start + TSTRING * i) for i in range(count)]


def read_encoded(at: int) -> bytes:
    size, shift = 0, 0
    while True:
        byte = ctypes.string_at(at, 1)[0]
        size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return ctypes.string_at(at, size)


def read_tstring(at: int) -> bytes:
    first, second, third = struct.unpack("=QQQ", ctypes.string_at(at, TSTRING))
    kind = first & 3
    if kind == OFFSET:
        return ctypes.string_at(at + (first >> 32), (first & 0xFFFFFFFF) >> 2)
    if kind == LARGE:
        return ctypes.string_at(third, first >> 2)
    if kind == VIEW:
        return ctypes.string_at(second, first >> 2)
    return ctypes.string_at(at + 1, (first & 255) >> 2)
