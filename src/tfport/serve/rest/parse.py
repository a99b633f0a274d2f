"""Parse the body of a request as a JSON object, and print excerpts of it for error messages.

Four parsers share the work because each buys something (`benchmarks/bodies.py` measures it):

- `orjson` reads what clients normally send. For large bodies of numbers, `flat_json` comes before it:
  `simdjson` creates no object per number, which is 2 to 4 times as fast.
- Python's `json` also accepts NaN and infinities, bytes that are not UTF-8, a byte order mark, and anything
  after the end of the object, as TensorFlow Serving does, more than 10 times as fast as `rapid_json`.
- `rapid_json` reads what none of these can, and bodies with duplicate keys. It is slow, and alone has
  TensorFlow Serving's values and error messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from tfport.serve.rest.rapid_json import EMPTY, INVALID, MARK, is_readable, parse_error, read_json
from tfport.serve.status import StatusError, invalid_argument

try:
    import simdjson
except ImportError:  # no wheel for some Python versions
    simdjson = None  # type: ignore[assignment]

# keys that are looked up in a document; an object of inputs may have further ones
_KEYS = [f'"{key}"'.encode() for key in ("instances", "inputs", "signature_name", "examples", "context")]
# possessive: no backtracking
_SHORT_INFINITY = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|\bInf\b', re.DOTALL)
_HALF_PAIR = re.compile(rb"\\u[dD][89abAB]")
_BLANK = " \t\r\n"
_READER = json.JSONDecoder()


def parsed(body: bytes) -> dict[str, Any]:
    """Return the object in a body."""
    if not body:
        raise invalid_argument("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
        if _has_duplicates(body, document) and is_readable(body):
            document = read_json(body)
    except orjson.JSONDecodeError:
        document = _parsed_tolerantly(body)
    if not isinstance(document, dict):
        raise invalid_argument(f"JSON Value: {excerpt(document)} Is not object")
    return document


def _has_duplicates(body: bytes, document: object) -> bool:
    """Whether the document, or its object of inputs, has a key twice."""
    if not isinstance(document, dict):
        return False
    if body.count(b'"') == 2 * len(document):
        return False  # nothing but the keys of the document is text
    inputs = document.get("inputs")
    names = [orjson.dumps(name) for name in inputs] if isinstance(inputs, dict) else []
    if all(body.count(key) < 2 for key in (*_KEYS, *names)):
        return False  # the usual case: no key is written twice, not even in different objects
    if simdjson is None:
        return read_json(body) != document
    try:
        read: Any = simdjson.Parser().parse(body)
        inner = len(read["inputs"]) if isinstance(inputs, dict) else 0
        return [len(read), inner] != [len(document), len(inputs) if isinstance(inputs, dict) else 0]
    except (ValueError, RuntimeError):  # what simdjson does not read is left as it is
        return False


def _parsed_tolerantly(body: bytes) -> object:
    if _HALF_PAIR.search(body) and is_readable(body):
        return read_json(body)
    text = body.removeprefix(MARK).decode("utf-8", "surrogateescape").lstrip(_BLANK)
    skipped = len(body) - len(text.encode("utf-8", "surrogateescape"))
    if not text:
        raise parse_error(EMPTY, skipped)
    if re.search(r"Inf\b", text):
        text = _SHORT_INFINITY.sub(lambda match: match[1] or "Infinity", text)
    try:
        return _READER.raw_decode(text)[0]
    except (ValueError, RecursionError) as error:
        if is_readable(body):
            return read_json(body)
        raise _inexact_error(error, skipped) from None


def _inexact_error(error: ValueError | RecursionError, skipped: int) -> StatusError:
    """Return the error of a body that is too large to read slowly."""
    if isinstance(error, RecursionError):
        return parse_error("The document is nested too deeply.", skipped)
    return parse_error(INVALID, skipped + (error.pos if isinstance(error, json.JSONDecodeError) else 0))


# Excerpts of JSON values, about 256 characters at most

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
