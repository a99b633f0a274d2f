"""Bearer tokens from a file: clients must send one of them.

The file has one token per line. It is read again when it changes, so tokens can be replaced while the
server runs. A token is valid only while the file contains it: if the file is empty, removed or cannot be
read, none is.
"""

from __future__ import annotations

import hmac
import logging
import time
from pathlib import Path

from tfport.errors import Error

_CHECK_INTERVAL = 2.0  # seconds
_SCHEME = "bearer"
_log = logging.getLogger(__name__)
Stamp = tuple[int, int, int]


class AuthTokens:
    """The tokens of a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._checked = time.monotonic()
        try:
            self._stamp: Stamp | None = _stamp(self._path)
            self._tokens = _read(self._path)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not a text file"
            raise Error(f"{path}: cannot read the tokens: {reason}") from None
        if not self._tokens:
            raise Error(f"{path}: the file contains no token")

    def allow(self, authorization: str) -> bool:
        """Whether an `Authorization` header (or gRPC metadata) contains a valid token."""
        self._refresh()
        scheme, _, token = authorization.strip().partition(" ")
        token_bytes = token.strip().encode("utf-8", "replace")
        # compare with all of them, so that the time reveals nothing
        matches = [hmac.compare_digest(token_bytes, known) for known in self._tokens]
        return scheme.lower() == _SCHEME and any(matches)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._checked < _CHECK_INTERVAL:
            return
        self._checked = now
        try:
            stamp: Stamp | None = _stamp(self._path)
            if stamp == self._stamp:
                return
            tokens = _read(self._path)
        except (OSError, UnicodeDecodeError):
            stamp, tokens = None, []
        if self._tokens and not tokens:
            _log.error("no request is allowed: %s contains no token or cannot be read", self._path)
        self._stamp, self._tokens = stamp, tokens


def _stamp(path: Path) -> Stamp:
    """Return what changes when a file is written or replaced."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> list[bytes]:
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line.encode() for line in lines if line]
