"""Parse the paths of `/v1/…` as TensorFlow Serving does."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tfport.serve.status import invalid_argument
from tfport.startup.dataclass import dataclass
from tfport.startup.late_pattern import late_pattern

_WHICH = r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_POST = late_pattern(
    rf"/v1/models/(?P<model>[^/:]+){_WHICH}:(?P<verb>classify|regress|predict)", re.IGNORECASE
)
_GET = late_pattern(rf"/v1/models(?:/(?P<model>[^/:]+))?{_WHICH}(?:/(?P<verb>metadata))?", re.IGNORECASE)
_BY_METHOD = {"POST": _POST, "GET": _GET}
MODEL_PATHS = late_pattern(r"/v1/.*", re.IGNORECASE | re.DOTALL)
STATUS, METADATA, PREDICT, CLASSIFY, REGRESS = "", "metadata", "predict", "classify", "regress"


@dataclass(frozen=True, slots=True)
class ParsedPath:
    """A model, the requested version or label, and the verb."""

    model: str
    version: int | None
    label: str
    verb: str


def parse_path(method: str, path: str) -> ParsedPath:
    """Parse a path, which is still percent-encoded."""
    pattern = _BY_METHOD.get(method)
    match = pattern.fullmatch(path) if pattern else None
    if match is None or match["verb"] not in (None, METADATA, PREDICT, CLASSIFY, REGRESS):
        raise invalid_argument(f"Malformed request: {method} {path}")
    version = match["version"]
    if version and (len(version) > 19 or int(version) >= 2**63):
        raise invalid_argument(f"Failed to convert version: {version} to numeric.")
    name, label = (unquote(match[part] or "", errors="replace") for part in ("model", "label"))
    return ParsedPath(name, int(version) if version else None, label, match["verb"] or STATUS)
