"""Who may ask: clients that send one of the tokens in a file.

The file has a token on each line. It is looked at again when it changes, so that tokens can be replaced
while the server runs; while it cannot be read the last ones hold.
"""

from __future__ import annotations

import hmac
import time
from pathlib import Path

from tfport.errors import Error

_LOOK_AGAIN = 2.0  # seconds
_SCHEME = "bearer"


class AuthTokens:
    """The tokens of a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._looked = time.monotonic()
        try:
            self._stamp = self._path.stat().st_mtime_ns
            self._tokens = _read(self._path)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise Error(f"{path}: the tokens cannot be read: {reason}") from None
        if not self._tokens:
            raise Error(f"{path}: there is no token in the file")

    def allow(self, authorization: str) -> bool:
        """Whether an `Authorization` header (or gRPC metadata) names one of them."""
        self._refresh()
        scheme, _, token = authorization.strip().partition(" ")
        token_bytes = token.strip().encode("utf-8", "replace")
        # all of them are compared, so that the time tells nothing
        matches = [hmac.compare_digest(token_bytes, known) for known in self._tokens]
        return scheme.lower() == _SCHEME and any(matches)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        try:
            stamp = self._path.stat().st_mtime_ns
            if stamp != self._stamp and (tokens := _read(self._path)):
                self._stamp, self._tokens = stamp, tokens
        except (OSError, UnicodeDecodeError):
            return


def _read(path: Path) -> list[bytes]:
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line.encode() for line in lines if line]
