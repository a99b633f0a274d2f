"""A plain HTTP port for probes and metrics only, for servers whose other ports need client certificates.

It needs no certificate and no token, tells nothing about models or requests, and has its own few
connections, so that a busy REST port does not delay probes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from aiohttp import web

from tfport.serve.rest.connections import SERVER_NAME, ConnectionLimits, Refused, connection_of
from tfport.serve.rest.encode import error_body
from tfport.serve.rest.listener import HttpListener
from tfport.serve.status import StatusCode

MOST_CONNECTIONS = 32


class HealthPort:
    """A port with a few pages."""

    def __init__(
        self,
        host: str,
        port: int,
        pages: Iterable[web.AbstractRouteDef],
        *,
        header_seconds: float,
        refused: Refused,
    ) -> None:
        self._address, self._pages, self._refused = (host, port), pages, refused
        self._limits = ConnectionLimits(MOST_CONNECTIONS, reserved=0, header_seconds=header_seconds)
        self._listener: HttpListener | None = None

    async def start(self) -> int:
        """Listen; return the port."""
        app = web.Application()
        app.add_routes(self._pages)
        app.on_response_prepare.append(_finish)
        self._listener = HttpListener(
            app, *self._address, limits=self._limits, refused=self._refused, name="the health port"
        )
        return await self._listener.start()

    async def stop(self) -> None:
        """Stop at once: probes are asked again."""
        if self._listener is not None:
            await self._listener.close()


async def _finish(request: web.Request, response: web.StreamResponse) -> None:
    connection = connection_of(request)
    connection.begin_request()
    connection.end_request()
    response.headers["Server"] = SERVER_NAME


# Pages

JSON: Final = {"Content-Type": "application/json"}
LIVE, READY = "/v1/health/live", "/v1/health/ready"


class HealthPages:
    """Answers probes: whether the server is live, and whether it is ready, which it is not while it stops."""

    def __init__(self, ready: Callable[[], bool]) -> None:
        self._ready, self.stopping = ready, False

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.get(LIVE, self._live), web.get(READY, self._is_ready)]

    async def _live(self, request: web.Request) -> web.Response:
        return web.Response(body=b'{"status": "live"}', headers=JSON)

    async def _is_ready(self, request: web.Request) -> web.Response:
        if self._ready() and not self.stopping:
            return web.Response(body=b'{"status": "ready"}', headers=JSON)
        body = error_body("Not ready: not every model is available")
        return web.Response(status=StatusCode.UNAVAILABLE.http, body=body, headers=JSON)
