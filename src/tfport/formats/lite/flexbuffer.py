"""Flexbuffers, the format of custom options: JSON-like values without a schema, read within bounds."""

from __future__ import annotations

import struct
from typing import Any

from tfport.errors import UnreadableFile

DEEPEST = 64
MOST_VALUES = 1_000_000
NULL, INT, UINT, FLOAT, KEY, STRING, INDIRECT_INT, INDIRECT_UINT, INDIRECT_FLOAT, MAP, VECTOR = range(11)
TYPED = {11: INT, 12: UINT, 13: FLOAT, 14: KEY, 15: STRING, 36: 26}
"""The element types of vectors whose elements all have the same type."""
FIXED = {16 + 3 * i + kind: (kind + INT, i + 2) for i in range(3) for kind in range(3)}
"""The element type and the length of vectors without a stored length."""
BLOB, BOOL = 25, 26
_SIGNED, _UNSIGNED = {1: "b", 2: "h", 4: "i", 8: "q"}, {1: "B", 2: "H", 4: "I", 8: "Q"}
_REAL = {2: "e", 4: "f", 8: "d"}


def custom_options(data: bytes | memoryview) -> dict[str, Any]:
    """The options of a custom op by name; empty if it has none."""
    decoded = decode_flexbuffer(data) if len(data) else {}
    return decoded if isinstance(decoded, dict) else {}


def decode_flexbuffer(data: bytes | memoryview, *, strings_as_bytes: bool = False) -> Any:
    """The value: None, a number, a string, bytes, a list or a dict; UnreadableFile if it is damaged."""
    try:
        return _Reader(bytes(data), strings_as_bytes).root()
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise UnreadableFile("the custom options of an operator are not a valid flexbuffer") from error


class _Reader:
    def __init__(self, data: bytes, strings_as_bytes: bool) -> None:
        self.data, self.strings_as_bytes = data, strings_as_bytes
        self.left = MOST_VALUES

    def root(self) -> Any:
        width, packed = self.data[-1], self.data[-2]
        return self._value(len(self.data) - 2 - width, width, packed, 0)

    def _value(self, at: int, width: int, packed: int, depth: int) -> Any:
        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            raise IndexError("too deep or too large")
        kind, child = packed >> 2, 1 << (packed & 3)
        if kind == NULL:
            return None
        if kind in (INT, UINT, FLOAT, BOOL):
            return self._scalar(at, width, kind)
        target = at - self._unsigned(at, width)
        if kind in (INDIRECT_INT, INDIRECT_UINT, INDIRECT_FLOAT):
            return self._scalar(target, child, kind - INDIRECT_INT + INT)
        if kind == KEY:
            return self.data[self._checked(target) : self.data.index(b"\0", target)].decode(
                "utf-8", "replace"
            )
        if kind in FIXED:
            element, count = FIXED[kind]
            return [self._value(target + i * child, child, element << 2, depth + 1) for i in range(count)]
        count = self._unsigned(target - child, child)
        if count > len(self.data):
            raise IndexError("more elements than bytes")
        if kind in (STRING, BLOB):
            content = self.data[self._checked(target) : target + count]
            is_text = kind == STRING and not self.strings_as_bytes
            return content.decode("utf-8", "replace") if is_text else content
        if kind in TYPED:
            return [self._value(target + i * child, child, TYPED[kind] << 2, depth + 1) for i in range(count)]
        if kind not in (MAP, VECTOR):
            raise KeyError(kind)
        types = self._checked(target + count * child)
        values = [
            self._value(target + i * child, child, self.data[types + i], depth + 1) for i in range(count)
        ]
        return dict(zip(self._keys(target, child, depth), values, strict=False)) if kind == MAP else values

    def _keys(self, target: int, width: int, depth: int) -> list[str]:
        """The keys of a map: a vector of keys that it refers to, in front of its values."""
        start = target - 3 * width
        keys = start - self._unsigned(start, width)
        key_width = self._unsigned(target - 2 * width, width)
        count = self._unsigned(keys - key_width, key_width)
        if count > len(self.data):
            raise IndexError("more keys than bytes")
        return [self._value(keys + i * key_width, key_width, KEY << 2, depth + 1) for i in range(count)]

    def _scalar(self, at: int, width: int, kind: int) -> Any:
        codes = {INT: _SIGNED, UINT: _UNSIGNED, FLOAT: _REAL, BOOL: _UNSIGNED}[kind]
        (number,) = struct.unpack_from(f"<{codes[width]}", self.data, self._checked(at))
        return bool(number) if kind == BOOL else number

    def _unsigned(self, at: int, width: int) -> int:
        (number,) = struct.unpack_from(f"<{_UNSIGNED[width]}", self.data, self._checked(at))
        return int(number)

    def _checked(self, at: int) -> int:
        if not 0 <= at <= len(self.data):
            raise IndexError("outside of the buffer")
        return at


def flex_options(op: str, node: bytes) -> bytes:
    """The custom options of a Flex op: a vector of its name and its NodeDef, both as strings."""
    width, code = (4, "I")
    data, starts = bytearray(), []
    for text in (op.encode(), node):
        data += bytes(-len(data) % width)
        data += struct.pack(f"<{code}", len(text))
        starts.append(len(data))
        data += text + b"\0"
    data += bytes(-len(data) % width)
    data += struct.pack(f"<{code}", len(starts))
    vector = len(data)
    for start in starts:
        data += struct.pack(f"<{code}", len(data) - start)
    packed = width.bit_length() - 1  # of what an offset leads to
    data += bytes([STRING << 2 | packed] * len(starts))
    root = len(data) + -len(data) % width
    data += bytes(root - len(data)) + struct.pack(f"<{code}", root - vector)
    return bytes(data) + bytes([VECTOR << 2 | packed, width])
