"""Follow where requests begin and end in what a connection receives.

    framing = RequestFraming()
    head, missing = framing.follow(data)        one whole plain request if `missing` is 0

A connection that has sent something that is not plain is no longer followed: it is aiohttp's from then on.
"""

from __future__ import annotations

from tfport.serve.rest.request_head import END, MOST_HEAD, RequestHead, read_head

_LOST = -1


class RequestFraming:
    """The state of one connection."""

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
