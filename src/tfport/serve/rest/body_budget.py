"""How much of all bodies is held at a time: what comes beyond is refused, whoever sends it.

budget.reserve(request, bytes)       as they come
budget.release(request)              once it is answered
"""

from __future__ import annotations

from aiohttp import web

from tfport.serve.status import StatusCode, StatusError


class BodyBudget:
    """The bytes of requests that are not answered yet."""

    def __init__(self, most: int) -> None:
        self.most, self.in_use = most, 0
        self._by_request: dict[int, int] = {}  # requests cannot be keys

    def reserve(self, request: web.Request, count: int) -> None:
        """So many bytes more of a request; refused where there is no room for them."""
        if self.in_use + count > self.most:
            raise StatusError(
                StatusCode.RESOURCE_EXHAUSTED,
                f"Too many requests: {self.in_use} bytes are being answered, and {self.most} are the most",
            )
        self.in_use += count
        self._by_request[id(request)] = self._by_request.get(id(request), 0) + count

    def release(self, request: web.Request) -> None:
        """A request is over, whatever became of it."""
        self.in_use -= self._by_request.pop(id(request), 0)
