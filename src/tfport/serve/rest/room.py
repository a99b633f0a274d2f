"""How much of all bodies is held at a time: what comes beyond is refused, whoever sends it.

room.take(request, bytes)        as they come
room.leave(request)              once it is answered
"""

from __future__ import annotations

from aiohttp import web

from tfport.serve.status import Code, Refused


class Room:
    """The bytes of requests that are not answered yet."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0
        self._by: dict[int, int] = {}  # requests cannot be keys

    def take(self, request: web.Request, count: int) -> None:
        """So many bytes more of a request; refused where there is no room for them."""
        if self.held + count > self.most:
            raise Refused(
                Code.RESOURCE_EXHAUSTED,
                f"Too many requests: {self.held} bytes are being answered, and {self.most} are the most",
            )
        self.held += count
        self._by[id(request)] = self._by.get(id(request), 0) + count

    def leave(self, request: web.Request) -> None:
        """A request is over, whatever became of it."""
        self.held -= self._by.pop(id(request), 0)
