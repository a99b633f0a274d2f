"""What a marshalled Python function names and contains, without `marshal.loads`.

`marshal` crashes on hostile bytes, and reads only what the running Python wrote. `read_code` reads the code
objects of Python 2.7 and 3.x within bounds, whichever of the four layouts they have. Nothing is executed:
the result has names and constants only, also those of the functions inside.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from typing import Any

from tfport.startup.dataclass import dataclass, field

CODE = ord("c")
REFERABLE = 0x80
"""The bit of an object that later objects may refer to."""
MOST_OBJECTS = 100_000
MOST_BYTES = 1 << 24
DEEPEST = 64
MOST_SHOWN = 8
LONGEST_TEXT = 80
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
TEXTS = re.compile(rb"[\x20-\x7e]{4,}")
LOCALS = ".<locals>."
"""In the names of functions inside others, which are constants of the outer function."""
_NULL = object()
"""The end of a dictionary."""

_OLD = ("code", "consts", "names", "varnames", "freevars", "cellvars", "filename", "name", "", "lnotab")
LAYOUTS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (
        5,
        ("code", "consts", "names", "varnames", "kinds", "filename", "name", "qualname", "", "lines", "excs"),
    ),
    (6, _OLD),
    (5, _OLD),
    (4, _OLD),
)
"""Python 3.11, 3.8, 3.0 and 2.7: the number of integers first, and the fields. A number has no name."""
PYTHONS = (("3.11", ""), ("3.8", "3.10"), ("3.0", "3.7"), ("2.7", "2.7"))
"""The first and the last Python with each layout."""


class _NotMarshalled(Exception):
    """The bytes are not a marshalled object of this layout."""


@dataclass(slots=True)
class MarshalledCode:
    """What a function names and contains, with the functions inside it."""

    names: list[str] = field(default_factory=list)
    """Global names, attributes and imported modules, in the order of their first use."""
    constants: list[str] = field(default_factory=list)
    """Strings and bytes."""
    is_whole: bool = True
    """Whether the code was read; otherwise `constants` has the texts that its bytes contain."""
    pythons: tuple[str, str] = ("", "")
    """The first and the last Python that can read the code; empty if unknown, or if there is no last one."""

    def describe(self) -> str:
        """For the end of a sentence: "names `os`, `system`; constants 'id'"."""
        names = ", ".join(f"`{name[:LONGEST_TEXT]}`" for name in self.names[:MOST_SHOWN])
        texts = ", ".join(repr(_cut(text)) for text in self.constants[:MOST_SHOWN])
        parts = [f"names {names}" * bool(names), f"constants {texts}" * bool(texts)]
        return "; ".join(filter(None, parts)) or "it names nothing outside of itself"


def code_bytes(stored: str) -> bytes:
    """The marshalled bytes of a function as Keras stores them: in base64, or as text with escapes."""
    if BASE64.fullmatch(stored):
        try:
            return base64.b64decode("".join(stored.split()), validate=True)
        except binascii.Error:
            pass
    return stored.encode("raw_unicode_escape", "replace")


def read_code(data: bytes) -> MarshalledCode:
    """The names and constants of a marshalled function; of bytes that are none, the texts in them."""
    data = data[:MOST_BYTES]
    for (integers, fields), pythons in zip(LAYOUTS, PYTHONS, strict=True):
        try:
            summary = _summary(_CodeReader(data, integers, fields).read())
            summary.pythons = pythons
            return summary
        except (_NotMarshalled, struct.error, IndexError, ValueError, OverflowError, RecursionError):
            continue
    texts = [text.decode("ascii") for text in TEXTS.findall(data)[:MOST_OBJECTS]]
    return MarshalledCode(constants=texts, is_whole=False)


def _summary(code: dict[str, Any]) -> MarshalledCode:
    names: dict[str, None] = {}
    constants: dict[str, None] = {}
    pending: list[Any] = [code]
    for value in pending:  # grows during the loop
        if len(pending) > MOST_OBJECTS:
            break
        if isinstance(value, dict) and "names" in value:
            names.update(dict.fromkeys(name for name in value["names"] if isinstance(name, str)))
            pending += value["consts"]
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and value and LOCALS not in value:
            constants[value] = None
    own = {code["name"]} if isinstance(code["name"], str) else set()
    return MarshalledCode(list(names), [text for text in constants if text not in own])


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


class _CodeReader:
    """Reads one marshalled object; sequences become lists, code a dict of its fields."""

    def __init__(self, data: bytes, integers: int, fields: tuple[str, ...]) -> None:
        self.data, self.at = data, 0
        self.integers, self.fields = integers, fields
        self.references: list[Any] = []
        self.interned: list[Any] = []
        self.objects = 0

    def read(self) -> dict[str, Any]:
        if not self.data or self.data[0] & ~REFERABLE != CODE:
            raise _NotMarshalled("not code")
        code: dict[str, Any] = self._object(0)
        lists = ("consts", "names", "varnames")
        if self.at != len(self.data) or not all(isinstance(code[name], list) for name in lists):
            raise _NotMarshalled("another layout")
        if not isinstance(code["filename"], str) or not isinstance(code["name"], str):
            raise _NotMarshalled("another layout")
        return code

    def _object(self, depth: int) -> Any:
        self.objects += 1
        if depth > DEEPEST or self.objects > MOST_OBJECTS:
            raise _NotMarshalled("too deep or too many objects")
        byte = self._take(1)[0]
        kind = chr(byte & ~REFERABLE)
        slot = None
        if byte & REFERABLE and kind not in "NFTS.r0":
            slot = len(self.references)
            self.references.append(None)
        value = self._value(kind, depth)
        if slot is not None:
            self.references[slot] = value
        return value

    def _value(self, kind: str, depth: int) -> Any:
        if kind in SIMPLE:
            return SIMPLE[kind]
        if kind in TEXT_SIZES:
            text = self._text(TEXT_SIZES[kind])
            if kind == "t":
                self.interned.append(text)
            return text
        if kind in "([<>":
            return self._sequence(self._uint(4), depth)
        if kind == ")":
            return self._sequence(self._uint(1), depth)
        if kind == "{":
            return self._dictionary(depth)
        if kind == "c":
            return self._code(depth)
        if kind in READERS:
            return READERS[kind](self)
        if kind == ":":
            return self._sequence(3, depth)
        raise _NotMarshalled(f"type {kind!r}")

    def _code(self, depth: int) -> dict[str, Any]:
        self._take(4 * self.integers)
        code: dict[str, Any] = {}
        for name in self.fields:
            if name:
                code[name] = self._object(depth + 1)
            else:
                self._take(4)
        if not isinstance(code["names"], list) or not isinstance(code["consts"], list):
            raise _NotMarshalled("another layout")
        return code

    def _sequence(self, count: int, depth: int) -> list[Any]:
        if count > len(self.data) - self.at:
            raise _NotMarshalled("more elements than bytes")
        return [self._object(depth + 1) for _ in range(count)]

    def _dictionary(self, depth: int) -> list[Any]:
        values: list[Any] = []
        while (key := self._object(depth + 1)) is not _NULL:
            values += [key, self._object(depth + 1)]
        return values

    def _text(self, size_bytes: int) -> str:
        return self._take(self._uint(size_bytes)).decode("utf-8", "replace")

    def _reference(self) -> Any:
        return self.references[self._uint(4)]

    def _interned(self) -> Any:
        return self.interned[self._uint(4)]

    def _long(self) -> None:
        (digits,) = struct.unpack("<i", self._take(4))
        self._take(2 * abs(digits))

    def _uint(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) != size:
            raise _NotMarshalled("cut short")
        self.at += size
        return part


SIMPLE = {"0": _NULL, "N": None, "F": False, "T": True, "S": None, ".": None}
TEXT_SIZES = {"s": 4, "t": 4, "u": 4, "a": 4, "A": 4, "z": 1, "Z": 1}
"""Texts and bytes, with the size of their length."""
READERS: dict[str, Callable[[_CodeReader], Any]] = {
    "r": _CodeReader._reference,
    "R": _CodeReader._interned,
    "i": lambda reader: reader._take(4) and None,
    "I": lambda reader: reader._take(8) and None,
    "g": lambda reader: reader._take(8) and None,
    "y": lambda reader: reader._take(16) and None,
    "f": lambda reader: reader._take(reader._uint(1)) and None,
    "x": lambda reader: [reader._take(reader._uint(1)) and None for _ in range(2)] and None,
    "l": _CodeReader._long,
}
"""Numbers, which are skipped, and references to earlier objects."""
