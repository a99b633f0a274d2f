"""Excerpts of JSON values for error messages, about 256 characters at most."""

from __future__ import annotations

import json
from collections.abc import Iterator

MOST_SHOWN = 256
_INDENT = "    "
_TYPES = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number", type(None): "Null"}


def json_type(value: object) -> str:
    """Return TensorFlow Serving's name for the type of a value."""
    return str(value) if isinstance(value, bool) else _TYPES[type(value)]


def excerpt(value: object) -> str:
    """Print a value, cut off if it is long."""
    out, size = [], 0
    for piece in _pieces(value, 0):
        out.append(piece)
        size += len(piece)
        if size >= MOST_SHOWN:
            break
    return "".join(out)


def _pieces(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for index, (key, item) in enumerate(value.items()):
            yield ("," if index else "") + "\n" + _INDENT * (depth + 1) + f"{_scalar(key)}: "
            yield from _pieces(item, depth + 1)
        yield "\n" + _INDENT * depth + "}" if value else "}"
    elif isinstance(value, list):
        yield "["
        for index, item in enumerate(value):
            if index:
                yield ", "
            yield from _pieces(item, depth + 1)
        yield "]"
    else:
        yield _scalar(value)


def _scalar(value: object) -> str:
    return json.dumps(value[:MOST_SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
