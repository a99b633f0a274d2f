"""What a method and a path of `/v1/…` ask for, read as TensorFlow Serving reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from tfport.serve.status import invalid_argument

_WHICH = r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_ASK = re.compile(rf"/v1/models/(?P<model>[^/:]+){_WHICH}:(?P<what>classify|regress|predict)", re.IGNORECASE)
_LOOK = re.compile(rf"/v1/models(?:/(?P<model>[^/:]+))?{_WHICH}(?:/(?P<what>metadata))?", re.IGNORECASE)
_OF_METHOD = {"POST": _ASK, "GET": _LOOK}
OURS = re.compile(r"/v1/.*", re.IGNORECASE | re.DOTALL)
STATUS, METADATA, PREDICT, CLASSIFY, REGRESS = "", "metadata", "predict", "classify", "regress"


@dataclass(frozen=True, slots=True)
class ParsedPath:
    """A model, one of its versions if the path says so, and what of it."""

    model: str
    version: int | None
    label: str
    what: str


def asked(method: str, path: str) -> ParsedPath:
    """What is asked for; `path` is as it came, with its escapes."""
    pattern = _OF_METHOD.get(method)
    match = pattern.fullmatch(path) if pattern else None
    if match is None or match["what"] not in (None, METADATA, PREDICT, CLASSIFY, REGRESS):
        raise invalid_argument(f"Malformed request: {method} {path}")
    version = match["version"]
    if version and (len(version) > 19 or int(version) >= 2**63):
        raise invalid_argument(f"Failed to convert version: {version} to numeric.")
    name, label = (unquote(match[part] or "", errors="replace") for part in ("model", "label"))
    return ParsedPath(name, int(version) if version else None, label, match["what"] or STATUS)
