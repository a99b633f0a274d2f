"""Encode and decode the keys of tensor slices in checkpoints.

A slice of a partitioned tensor is stored under a key with the tensor's name and
the start and length of each axis (`EncodeTensorNameSlice` in TensorFlow's
saved_tensor_slice_util.cc). The encoding, TensorFlow's OrderedCode, makes the
bytes of keys sort like the values they contain.
"""

from __future__ import annotations

from tfport.formats.checkpoint.slices import Slice
from tfport.startup.late_pattern import late_pattern

END_OF_STRING = b"\0\1"
SPECIAL = late_pattern(rb"[\x00\xff]")
ESCAPED = late_pattern(rb"\x00\xff|\xff\x00")
STRING = late_pattern(rb"((?:[^\x00\xff]|\x00\xff|\xff\x00)*+)\x00\x01")
SLICE_KEY = b"\0"
"""The first byte of the key of a slice; no key of a tensor begins with it."""


def encode_slice(name: str, part: Slice) -> bytes:
    """The key of one slice of a tensor."""
    numbers = b"".join(encode_signed(start) + encode_signed(length) for start, length in part)
    return SLICE_KEY + encode_string(name.encode()) + encode_number(len(part)) + numbers


def decode_slice(key: bytes) -> tuple[str, Slice]:
    """The tensor and the slice of a key. ValueError if the key is malformed."""
    if key[:1] != SLICE_KEY:
        raise ValueError(f"expected a key that begins with a zero byte, found {key[:8]!r}")
    name, at = decode_string(key, 1)
    rank, at = decode_number(key, at)
    part = []
    for _ in range(rank):
        start, at = decode_signed(key, at)
        length, at = decode_signed(key, at)
        part.append((start, length))
    if at != len(key):
        raise ValueError(f"expected the end of the key, found {key[at : at + 8]!r}")
    return name.decode(), tuple(part)


def encode_string(text: bytes) -> bytes:
    """The bytes with 00 and ff escaped, then the end mark."""
    return SPECIAL.sub(lambda match: match[0] + bytes([0xFF - match[0][0]]), text) + END_OF_STRING


def decode_string(data: bytes, at: int) -> tuple[bytes, int]:
    if not (string := STRING.match(data, at)):
        raise ValueError(f"expected a string at byte {at} of the key")
    return ESCAPED.sub(lambda pair: pair[0][:1], string[1]), string.end()


def encode_number(number: int) -> bytes:
    """The number of bytes, then the bytes, the most significant first."""
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def decode_number(data: bytes, at: int) -> tuple[int, int]:
    size = data[at] if at < len(data) else 9
    end = at + 1 + size
    if size > 8 or end > len(data):
        raise ValueError(f"expected a number at byte {at} of the key")
    return int.from_bytes(data[at + 1 : end], "big"), end


def encode_signed(number: int) -> bytes:
    """The number of equal leading bits is the number of bytes; they are zeros if the number is negative."""
    size = max(number, ~number).bit_length() // 7 + 1
    return (number & ones(8 * size) ^ leading(size)).to_bytes(size, "big")


def decode_signed(data: bytes, at: int) -> tuple[int, int]:
    head = int.from_bytes(data[at : at + 2].ljust(2, b"\0"), "big")
    negative = head < 0x8000
    leading_ones = head ^ 0xFFFF if negative else head
    size = 16 - (leading_ones ^ 0xFFFF).bit_length()
    end = at + size
    if size > 10 or end > len(data):
        raise ValueError(f"expected a signed number at byte {at} of the key")
    body = int.from_bytes(data[at:end], "big") ^ leading(size)
    return body - (1 << 8 * size) if negative else body, end


def ones(bits: int) -> int:
    return (1 << bits) - 1


def leading(size: int) -> int:
    """The leading bits that encode the size of a signed number: one for each of its bytes."""
    return ones(size) << 7 * size
