"""The pages for probes: whether the server is live, and whether it is ready for requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aiohttp import web

from tfport.serve.rest.encode import error_body
from tfport.serve.status import StatusCode

JSON: Final = {"Content-Type": "application/json"}
LIVE, READY = "/v1/health/live", "/v1/health/ready"


class HealthPages:
    """Answers probes; not ready while the server stops."""

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
