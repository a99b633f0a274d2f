"""Numbers of seven bits a byte, as protobuf and TensorFlow's tables write them."""

from __future__ import annotations

_ALL = (1 << 64) - 1


def to_varint(value: int) -> bytes:
    """The bytes of a number that is not negative."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def from_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The number at a place, and where it ends. ValueError where there is none."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & _ALL, at
        shift += 7
    raise ValueError("a number without end")
