"""A limit on the total size of all request bodies in memory; further data is refused."""

from __future__ import annotations

from aiohttp import web

from tfport.serve.status import StatusCode, StatusError


class BodyBudget:
    """Limits the bytes of all requests that are not answered yet.

    budget.reserve(request, bytes)       while a body is read
    budget.release(request)              once the request is answered
    """

    def __init__(self, most: int) -> None:
        self.most, self.in_use = most, 0
        self._by_request: dict[int, int] = {}  # requests are not hashable

    def reserve(self, request: web.Request, count: int) -> None:
        """Reserve memory for `count` more bytes of a request; raise if the limit is reached."""
        if self.in_use + count > self.most:
            raise StatusError(
                StatusCode.RESOURCE_EXHAUSTED,
                f"Too many requests: {self.in_use} of at most {self.most} bytes of requests are in memory",
            )
        self.in_use += count
        self._by_request[id(request)] = self._by_request.get(id(request), 0) + count

    def release(self, request: web.Request) -> None:
        """Release the memory of a request that has ended."""
        self.in_use -= self._by_request.pop(id(request), 0)
