"""Examples and SequenceExamples as bytes, without TensorFlow: `example(age=[3], name=[b"x"])`."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def feature(values: Any) -> bytes:
    """A list of bytes, floats or ints; None is a Feature without a list, bytes are used unchanged."""
    if values is None:
        return b""
    if isinstance(values, bytes):
        return values
    if any(isinstance(v, bytes) for v in values):
        return field(1, b"".join(field(1, v) for v in values))
    if any(isinstance(v, float) for v in values):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(map(varint, values))))


def unpacked(values: list[Any]) -> bytes:
    """The same with a tag before each element."""
    if isinstance(values[0], float):
        return field(2, b"".join(b"\x0d" + struct.pack("<f", v) for v in values))
    return field(3, b"".join(b"\x08" + varint(v) for v in values))


NO_STRINGS, NO_FLOATS, NO_INTS = field(1, b""), field(2, b""), field(3, b"")


def features(**values_by_name: Any) -> bytes:
    return b"".join(
        field(1, field(1, name.encode()) + field(2, feature(values)))
        for name, values in values_by_name.items()
    )


def example(**values_by_name: Any) -> bytes:
    return field(1, features(**values_by_name))


def sequence(context: dict[str, Any], lists: dict[str, list[Any]]) -> bytes:
    steps = (
        field(1, field(1, name.encode()) + field(2, b"".join(field(1, feature(step)) for step in values)))
        for name, values in lists.items()
    )
    return field(1, features(**context)) + field(2, b"".join(steps))


def serialized(*messages: bytes) -> Any:
    out = np.empty(len(messages), object)
    out[:] = messages
    return out


def one(message: bytes) -> Any:
    out = np.empty((), object)
    out[()] = message
    return out
