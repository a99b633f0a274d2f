"""Parse protobuf messages from JSON, in all variants that TensorFlow.js converters wrote.

Names are in camelCase or snake_case; bytes are base64 or lists of numbers; enums are
names or numbers; 64-bit integers are strings, numbers or pairs. Unknown fields are
ignored, as in every protobuf parser.
"""

from __future__ import annotations

import base64
import binascii
import functools
from enum import Enum
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tfport.errors import UnreadableFile

REAL = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
BUFFER = "data"  # Node.js writes bytes as {"type": "Buffer", "data": […]}
MOST_SHOWN = 40
MOST_REMEMBERED = 256
"""The longest values, as text, of which equal ones are expected."""


def fill(message: Message, data: object, where: str) -> None:
    """Set the fields of `message` from the JSON object `data`."""
    _Filler().fill(message, data, where)


class Holds(Enum):
    """What a field has."""

    VALUE = "one value"
    MESSAGE = "one message"
    LIST = "several of either"
    MAP = "several of either, by key"


@functools.lru_cache(1024)
def field_of(kind: Any, key: str) -> tuple[Any, Holds]:
    """The field of a class of messages with a name in JSON, or None, and what it has."""
    descriptor = kind.DESCRIPTOR
    field = descriptor.fields_by_camelcase_name.get(key) or descriptor.fields_by_name.get(key)
    if field is None:
        return None, Holds.VALUE
    is_message = field.message_type is not None
    if is_message and field.message_type.GetOptions().map_entry:
        return field, Holds.MAP
    if hasattr(getattr(kind(), field.name), "extend"):
        return field, Holds.LIST
    return field, Holds.MESSAGE if is_message else Holds.VALUE


class _Filler:
    """Sets the fields of messages; equal values of maps, such as attributes of nodes, are parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[type[Message], str], Message] = {}

    def fill(self, message: Message, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise bad(where, "an object", data)
        kind: Any = type(message)
        for key, value in data.items():
            field, holds = field_of(kind, key)
            if field is not None and value is not None:
                try:
                    self._set_field(message, field, holds, value, f"{where}.{key}")
                except (ValueError, TypeError, OverflowError):  # out of range, or not UTF-8
                    raise bad(f"{where}.{key}", f"a {kind_name(field)}", value) from None

    def _set_field(self, message: Message, field: Any, holds: Holds, value: object, where: str) -> None:
        if holds is Holds.VALUE:
            setattr(message, field.name, scalar(field, value, where))
            return
        current: Any = getattr(message, field.name)
        if holds is Holds.MAP:
            self._fill_map(current, field, value, where)
        elif holds is Holds.LIST:
            if not isinstance(value, list):
                raise bad(where, "a list", value)
            for index, item in enumerate(value):
                self._add_item(current, field, item, f"{where}[{index}]")
        else:
            current.SetInParent()  # {"list": {}} is an empty list, not a missing one
            self.fill(current, value, where)

    def _add_item(self, current: Any, field: Any, item: object, where: str) -> None:
        if field.message_type is not None:
            self.fill(current.add(), item, where)
        else:
            current.append(scalar(field, item, where))

    def _fill_map(self, current: Any, field: Any, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise bad(where, "an object", value)
        key_field, value_field = entry_of(field)
        for key, item in value.items():
            at = scalar(key_field, key, where)
            if value_field.message_type is not None:
                self._fill_value(current[at], item, f"{where}.{key}")
            else:
                current[at] = scalar(value_field, item, f"{where}.{key}")

    def _fill_value(self, message: Message, data: object, where: str) -> None:
        written = repr(data)
        if len(written) > MOST_REMEMBERED:
            self.fill(message, data, where)
            return
        parsed = self._parsed.get((type(message), written))
        if parsed is None:
            self.fill(message, data, where)
            self._parsed[type(message), written] = message
        else:
            message.CopyFrom(parsed)


@functools.lru_cache(1024)
def entry_of(field: Any) -> tuple[Any, Any]:
    """The fields of the keys and the values of a map."""
    fields = field.message_type.fields_by_name
    return fields["key"], fields["value"]


def scalar(field: Any, value: object, where: str) -> object:
    """A JSON value as the type of the field."""
    if field.type == FieldDescriptor.TYPE_BYTES:
        return to_bytes(value, where)
    if field.enum_type is not None:
        return to_enum(field.enum_type.values_by_name, value, where)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and isinstance(value, str):
        return value
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL and isinstance(value, bool | int):
        return bool(value)
    if field.cpp_type in REAL and isinstance(value, int | float | str):
        return float(value)
    if field.cpp_type not in (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_BOOL, *REAL):
        return to_int(value, where)
    raise bad(where, f"a {kind_name(field)}", value)


def to_bytes(value: object, where: str) -> bytes:
    if isinstance(value, dict):
        value = value.get(BUFFER)
    if isinstance(value, list) and all(isinstance(byte, int) for byte in value):
        return bytes(value)
    if not isinstance(value, str):
        raise bad(where, "bytes", value)
    try:
        plain = value.replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise bad(where, "base64", value) from None


def to_enum(values: Any, value: object, where: str) -> int:
    if isinstance(value, str) and value in values:
        return int(values[value].number)
    if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        return int(value)
    raise bad(where, "the name or number of a type", value)


def to_int(value: object, where: str) -> int:
    if isinstance(value, dict) and {"low", "high"} <= value.keys():  # as long.js represents 64 bits
        return (to_int(value["high"], where) << 32) | (to_int(value["low"], where) & 0xFFFFFFFF)
    if isinstance(value, int | str) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise bad(where, "an integer", value)


def kind_name(field: Any) -> str:
    names = {FieldDescriptor.CPPTYPE_STRING: "string", FieldDescriptor.CPPTYPE_BOOL: "boolean"}
    return names.get(field.cpp_type, "number")


def bad(where: str, expected: str, value: object) -> UnreadableFile:
    shown = repr(value)[: MOST_SHOWN * 2]
    shown = shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + "…"
    return UnreadableFile(f"{where}: expected {expected}, found {shown}")
