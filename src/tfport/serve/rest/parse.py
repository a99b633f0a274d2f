"""The JSON object that the body of a request is.

`orjson` reads what every client sends. Where it refuses, Python's own parser looks again, for what
TensorFlow Serving reads beyond JSON: NaN and infinities, bytes that are no UTF-8, a byte order mark, and
anything at all behind the end of the object. What both refuse is dtype_name in TensorFlow Serving's words.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from tfport.serve.rest.excerpt import excerpt
from tfport.serve.status import StatusError, invalid_argument

_MARK = b"\xef\xbb\xbf"
# possessive, so that text is passed over once however it ends
_SHORT_INFINITY = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|\bInf\b', re.DOTALL)
_BLANK = " \t\r\n"
_READER = json.JSONDecoder()

# What Python's parser says, and what is said by the one in TensorFlow Serving (rapidjson).
_COMPLAINTS = {
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
    """The object that `body` says."""
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
        known = next(
            (theirs for mine, theirs in _COMPLAINTS.items() if error.msg.startswith(mine)), error.msg
        )
        raise _parse_error(known, skipped + error.pos) from None
    except RecursionError:
        raise _parse_error("The document is nested too deeply.", skipped) from None
    except ValueError:  # a number of so many digits that Python does not read it
        raise _parse_error("Number too big to be stored in double.", skipped) from None


def _parse_error(message: str, offset: int) -> StatusError:
    return invalid_argument(f"JSON Parse error: {message} at offset: {offset}")
