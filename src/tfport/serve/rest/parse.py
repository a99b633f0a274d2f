"""Parse the body of a request as a JSON object.

`orjson` handles what clients normally send. If it fails, Python's own parser tries again and accepts what
TensorFlow Serving accepts beyond JSON: NaN and infinities, bytes that are not UTF-8, a byte order mark,
and anything after the end of the object. Error messages are TensorFlow Serving's.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from tfport.serve.rest.excerpt import excerpt
from tfport.serve.status import StatusError, invalid_argument

_MARK = b"\xef\xbb\xbf"
# possessive: no backtracking
_SHORT_INFINITY = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|\bInf\b', re.DOTALL)
_BLANK = " \t\r\n"
_READER = json.JSONDecoder()

# messages of Python's parser, and those of TensorFlow Serving's parser (rapidjson)
_MESSAGES = {
    "Expecting value": "Invalid value.",
    "Expecting property name": "Missing a name for object member.",
    "Expecting ':'": "Missing a colon after a name of object member.",
    "Expecting ','": "Missing a comma or } after an object member, or ] after an array element.",
    "Illegal trailing comma": "Invalid value.",
    "Unterminated string": "Missing a closing quotation mark in string.",
    "Invalid \\escape": "Invalid escape character in string.",
    "Invalid \\u": "Incorrect hex digit after \\u escape in string.",
    "Invalid control character": "Invalid encoding in string.",
}


def parsed(body: bytes) -> dict[str, Any]:
    """Return the object in a body."""
    if not body:
        raise invalid_argument("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = _parsed_tolerantly(body)
    if not isinstance(document, dict):
        raise invalid_argument(f"JSON Value: {excerpt(document)} Is not object")
    return document


def _parsed_tolerantly(body: bytes) -> object:
    text = body.removeprefix(_MARK).decode("utf-8", "surrogateescape").lstrip(_BLANK)
    skipped = len(body) - len(text.encode("utf-8", "surrogateescape"))
    if not text:
        raise _parse_error("The document is empty.", skipped)
    if re.search(r"Inf\b", text):
        text = _SHORT_INFINITY.sub(lambda match: match[1] or "Infinity", text)
    try:
        return _READER.raw_decode(text)[0]
    except json.JSONDecodeError as error:
        message = next(
            (theirs for ours, theirs in _MESSAGES.items() if error.msg.startswith(ours)), error.msg
        )
        raise _parse_error(message, skipped + error.pos) from None
    except RecursionError:
        raise _parse_error("The document is nested too deeply.", skipped) from None
    except ValueError:  # a number with too many digits for Python
        raise _parse_error("Number too big to be stored in double.", skipped) from None


def _parse_error(message: str, offset: int) -> StatusError:
    return invalid_argument(f"JSON Parse error: {message} at offset: {offset}")
