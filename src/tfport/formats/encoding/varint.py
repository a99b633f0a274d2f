"""Variable-length integers with seven bits per byte, as in protobuf and TensorFlow's tables."""

from __future__ import annotations

_ALL = (1 << 64) - 1


def to_varint(value: int) -> bytes:
    """The bytes of a non-negative integer."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def from_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The integer at an offset, and where it ends. ValueError if it does not end."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & _ALL, at
        shift += 7
    raise ValueError("a number that does not end")
