"""DecodeJSONExample: tf.Example messages from JSON, with their fields in the order of the text."""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from typing import Any

from tfport.errors import RunFailed
from tfport.formats.encoding.wire import to_varint
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import map_strings

_LISTS = {
    "bytesList": 1, "bytes_list": 1, "floatList": 2, "float_list": 2, "int64List": 3, "int64_list": 3,
}  # fmt: skip
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@host("DecodeJSONExample")
def decode_json_example(json_examples):
    return map_strings(json_examples, _example)


def _example(text: bytes) -> bytes:
    try:
        document = json.loads(text, object_pairs_hook=_JsonObject, parse_constant=_reject_constant)
        return b"".join(
            _message(1, _features(value))
            for _, value in _members(document, ("features",))
            if value is not None
        )
    except (ValueError, TypeError, OverflowError, RecursionError, struct.error, binascii.Error) as error:
        raise RunFailed(f"invalid JSON for an Example: {error}") from None


class _JsonObject(list[tuple[str, Any]]):
    """The members of a JSON object."""


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} must be quoted")


def _members(value: Any, allowed: Any = None) -> _JsonObject:
    if not isinstance(value, _JsonObject):
        raise ValueError(f"expected an object, found {value!r:.50}")
    names = [name for name, _ in value]
    if len(set(names)) < len(names):
        raise ValueError(f"names must be unique, found {names!s:.100}")
    if allowed is not None and (unknown := [name for name in names if name not in allowed]):
        raise ValueError(f"unknown field {unknown[0]!r:.50}")
    return value


def _features(value: Any) -> bytes:
    out = []
    for _, entries in _members(value, ("feature",)):
        for name, feature in _members(entries) if entries is not None else ():
            out.append(_message(1, _message(1, name.encode()) + _message(2, _feature(feature))))
    return b"".join(out)


def _feature(value: Any) -> bytes:
    members = [(name, member) for name, member in _members(value, _LISTS) if member is not None]
    if len(members) > 1:
        raise ValueError(f"a feature must have only one list, found {', '.join(name for name, _ in members)}")
    return b"".join(_message(_LISTS[name], _list(_LISTS[name], member)) for name, member in members)


def _list(kind: int, value: Any) -> bytes:
    out = []
    for _, member in _members(value, ("value",)):
        elements = member if isinstance(member, list) and not isinstance(member, _JsonObject) else [member]
        out += [_WRITERS[kind](element) for element in elements if element is not None or member is not None]
    return b"".join(out)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"expected base64, found {value!r:.50}")
    text = value.replace("-", "+").replace("_", "/").rstrip("=")
    return _message(1, base64.b64decode(text + "=" * (-len(text) % 4), validate=True))


def _float(value: Any) -> bytes:
    if isinstance(value, bool) or value is None:
        raise ValueError(f"expected a number, found {value}")
    number = _SPECIAL[value] if isinstance(value, str) and value in _SPECIAL else float(value)
    return b"\x0d" + struct.pack("<f", number)


def _int64(value: Any) -> bytes:
    if isinstance(value, bool) or value is None:
        raise ValueError(f"expected a number, found {value}")
    number = int(value)
    if number != (int(value) if isinstance(value, str) else value) or not -(2**63) <= number < 2**63:
        raise ValueError(f"{value} is not an int64")
    return b"\x08" + to_varint(number % 2**64)


_WRITERS = {1: _bytes, 2: _float, 3: _int64}


def _message(field: int, inner: bytes) -> bytes:
    return bytes([field << 3 | 2]) + to_varint(len(inner)) + inner
