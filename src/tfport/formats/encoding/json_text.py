"""Parse JSON of a model file, with bounds on its size and nesting."""

from __future__ import annotations

import json
from typing import Any

from tfport.errors import NotAModel, UnreadableFile

MOST_JSON = 512 * 2**20
DEEPEST = 400
"""Models nested in models: each level takes about six."""


def parse_json(text: memoryview | bytes, where: str, expected: type, most: int = MOST_JSON) -> Any:
    """The value of a JSON text of at most `most` bytes, which must be an object (`dict`) or a list."""
    if len(text) > most:
        raise UnreadableFile(f"{where}: expected at most {most} bytes of JSON, found {len(text)}")
    try:
        value = json.loads(str(text, "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{where}, byte {error.start}: the text is not UTF-8") from None
    except json.JSONDecodeError as error:
        at = f"{where}, line {error.lineno}, column {error.colno}"
        raise UnreadableFile(f"{at}: not JSON, or cut short ({error.msg})") from None
    except (RecursionError, ValueError):  # too deep, or a number with thousands of digits
        raise _too_deep(where) from None
    if not isinstance(value, expected):
        wanted = "object" if expected is dict else "list"
        raise NotAModel(f"{where}: expected a JSON {wanted}, found a {type(value).__name__}")
    return value


def _too_deep(where: str) -> UnreadableFile:
    return UnreadableFile(f"{where}: the JSON is nested too deeply or too large")


def check_depth(value: Any, where: str) -> None:
    """Raise an error if later readers could not walk the value recursively."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            return
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    raise _too_deep(where)
