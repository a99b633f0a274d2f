"""Read the head of a plain request: where its body ends, and which model it is for.

    head = read_head(b"POST /v1/models/half:predict HTTP/1.1\\r\\nContent-Length: 18\\r\\n\\r\\n")
    head.length, head.path.model                18, "half"

Plain is what HTTP clients send for a small request: HTTP/1.1, a body whose length is known, and a connection
that stays open. For any other head the result is None: aiohttp reads it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from tfport.serve.status import StatusError, invalid_argument
from tfport.startup.dataclass import dataclass

MOST_HEAD = 4096
MOST_FIELDS = 64
END = b"\r\n\r\n"
# a name without any character that has a meaning in a path
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.~-]*+"
_PREDICT = re.compile(rf"/v1/models/{_NAME}(?:/(?:versions|labels)/{_NAME})?:predict")
_START = re.compile(rb"(GET|POST) (/[!-~]*+) HTTP/1\.1")
_FIELD = re.compile(rb"([A-Za-z0-9_-]++):[ \t]*+([ -~]*+)")
_LENGTH = re.compile(rb"[0-9]{1,12}")
_CLOSING = b"connection"
_LOST = -1
_FRAMING = frozenset(
    b"transfer-encoding content-encoding trailer te expect upgrade http2-settings proxy-connection".split()
)
"""Fields that change how a request is read, or what follows it."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A plain request without its body."""

    length: int
    """Bytes of the body."""
    path: ParsedPath | None
    """Set if this is a predict request."""
    authorization: str


@lru_cache(256)
def read_head(head: bytes) -> RequestHead | None:
    """Read a head, which ends with an empty line; clients repeat theirs, so it is read once."""
    start, *lines = head.removesuffix(END).split(b"\r\n")
    begin = _START.fullmatch(start)
    if begin is None or len(lines) > MOST_FIELDS:
        return None
    fields: dict[bytes, bytes] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None or (name := field[1].lower()) in fields or name in _FRAMING:
            return None
        fields[name] = field[2].strip(b" \t")
    length = fields.get(b"content-length", b"0" if begin[1] == b"GET" else b"")
    if not _LENGTH.fullmatch(length) or fields.get(_CLOSING, b"keep-alive").lower() != b"keep-alive":
        return None
    authorization = fields.get(b"authorization", b"").decode("ascii")
    return RequestHead(int(length), _predict_path(begin[1], begin[2].decode("ascii")), authorization)


def _predict_path(method: bytes, path: str) -> ParsedPath | None:
    if method != b"POST" or not _PREDICT.fullmatch(path):
        return None
    try:
        return parse_path("POST", path)
    except StatusError:
        return None


class RequestFraming:
    """Where requests begin and end in what a connection receives.

        framing = RequestFraming()
        head, missing = framing.follow(data)        one whole plain request if `missing` is 0

    A connection that has sent something that is not plain is no longer followed: aiohttp reads it from then
    on.
    """

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = 0  # bytes of a body that are still to come

    def follow(self, data: bytes) -> tuple[RequestHead | None, int]:
        """Return the head if a plain request begins here, and how many bytes of its body are missing."""
        if self._rest:
            if self._rest != _LOST:
                self._rest = self._rest - len(data) if len(data) <= self._rest else _LOST
            return None, 0
        end = data.find(END, 0, MOST_HEAD) + len(END)
        head = read_head(data[:end]) if end >= len(END) else None
        missing = end + head.length - len(data) if head is not None else _LOST
        self._rest = max(missing, _LOST)
        return (None, 0) if missing < 0 else (head, missing)

    def repeat(self) -> None:
        """Expect the beginning of the last request once more, with the rest of its body."""
        self._rest = 0


# Paths of `/v1/…`, parsed as TensorFlow Serving does

_WHICH = r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(rf"/v1/models/(?P<model>[^/:]+){_WHICH}:(?P<verb>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(rf"/v1/models(?:/(?P<model>[^/:]+))?{_WHICH}(?:/(?P<verb>metadata))?", re.IGNORECASE)
_BY_METHOD = {"POST": _POST, "GET": _GET}
MODEL_PATHS = re.compile(r"/v1/.*", re.IGNORECASE | re.DOTALL)
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
