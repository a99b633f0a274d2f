"""The REST server: port, limits of size and time, compression, tokens and error responses.

    server = RestServer(catalog, ready=lambda: True, options=RestOptions(port=0))
    port = await server.start()
    await server.stop(grace=30)

`routes` answers the requests. Other protocols add their paths with `extra_routes`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tfport.serve.event_loop import until_quiet
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.request_metrics import BY_HTTP_STATUS, REST, UNKNOWN_PATH, reason_of
from tfport.serve.rest import openapi
from tfport.serve.rest.connections import SERVER_NAME, HttpConnection, connection_of
from tfport.serve.rest.encode import error_body
from tfport.serve.rest.health_port import JSON, LIVE, READY, HealthPages
from tfport.serve.rest.instant_answers import InstantAnswers
from tfport.serve.rest.listener import HttpListener
from tfport.serve.rest.middleware import compressed, observed, within_time
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.read_body import read_body
from tfport.serve.rest.request_head import MODEL_PATHS, parse_path
from tfport.serve.rest.routes import answer_get, answer_post
from tfport.serve.status import FAULTS, SAFE_CODES, StatusCode, StatusError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OPENAPI = "/openapi.json"
WITHOUT_TOKEN = (LIVE, READY, "/v2/health/live", "/v2/health/ready")
"""Paths that need no token."""
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}
_UNKNOWN = b"<HTML><HEAD>\n<TITLE>404 Not Found</TITLE>\n</HEAD><BODY>\n<H1>Not Found</H1>\n</BODY></HTML>\n"
_log = logging.getLogger("tfport.serve.rest")
_http_log = logging.getLogger("tfport.serve.rest.http")


def _is_server_error(record: logging.LogRecord) -> bool:
    """Whether the server failed: not for clients that send invalid HTTP or disconnect."""
    return record.exc_info is None or not isinstance(
        record.exc_info[1], HttpProcessingError | ConnectionError
    )


_http_log.addFilter(_is_server_error)


class RestServer:
    """The REST port of a server."""

    def __init__(
        self,
        catalog: ModelCatalog,
        *,
        ready: Callable[[], bool],
        options: RestOptions | None = None,
        extra_routes: Sequence[web.AbstractRouteDef] = (),
        extra_paths: Mapping[str, Any] | None = None,
        extra_schemas: Mapping[str, Any] | None = None,
    ) -> None:
        """`extra_paths` and `extra_schemas` describe the extra routes in the OpenAPI document."""
        self.options = options or RestOptions()
        self._catalog, self._health = catalog, HealthPages(ready)
        self._extra = extra_routes
        self._extra_paths, self._extra_schemas = extra_paths, extra_schemas
        self._headers = _headers(self.options)
        self._listener: HttpListener | None = None
        self._begun, self._running, self._idle, self._stopping = 0, 0, asyncio.Event(), False

    async def start(self) -> int:
        """Listen; return the port, chosen by the system if the option is 0."""
        options = self.options
        app = web.Application(middlewares=[self._around], client_max_size=options.most_bytes)
        app.add_routes(self._extra)
        app.add_routes(self._health.routes())
        app.router.add_get(OPENAPI, self._openapi)
        app.router.add_route("*", "/{path:.*}", self._models)
        self._listener = HttpListener(
            app,
            options.host,
            options.port,
            limits=options.connections,
            refused=self._refused,
            answers=InstantAnswers(self._catalog, options, self._headers, self._has_room),
            tls=options.tls,
            logger=_http_log,
            keepalive_timeout=options.idle_seconds,
            lingering_time=1.0,  # for the rest of a rejected body
        )
        return await self._listener.start()

    async def stop(self, grace: float = 0.0) -> None:
        """Stop listening, wait `grace` seconds for requests in progress, and close the connections."""
        self._stopping = self._health.stopping = True
        if self._listener is None:
            return
        self._listener.stop_listening()
        try:
            async with asyncio.timeout(grace):
                await until_quiet(lambda: self._begun)  # of connections that are open already
                while self._running:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            if self._running:
                _log.warning("%d REST requests were cut off when the server stopped", self._running)
        await self._listener.close()
        self.options.workers.close()
        self._listener = None

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Wrap every request: tokens, limits, errors as JSON, compression and CORS headers."""
        connection = connection_of(request)
        connection.begin_request()
        self._begun += 1
        self._running += 1
        if metrics := self.options.metrics:
            metrics.began(REST)
        try:
            self._check_connection(connection, request)
            self._check_token(request)
            self._check_limit(request)
            response = await handler(request)
        except StatusError as error:
            response = self._error(error.code.http, error.message)
            self._refuse(request, reason_of(error.code), error)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            response = _as_json(error)
            self._refuse(request, BY_HTTP_STATUS.get(error.status, str(error.status)))
        except ConnectionError:
            response = self._error(StatusCode.CANCELLED.http, "The client disconnected")
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            response = self._error(StatusCode.INTERNAL.http, "Internal error; see the server's log")
        finally:
            self._running -= 1
            self._idle.set()
            self.options.body_budget.release(request)
            if metrics:
                metrics.ended(REST)
            connection.end_request()
        await compressed(request, response, self.options.gzip_from)
        response.headers.update(self._headers)
        if self._stopping or connection.for_probes:
            response.force_close()
        return response

    def _refuse(self, request: web.Request, reason: str, error: StatusError | None = None) -> None:
        """Count and log a refused request; unless the server itself failed, which is logged elsewhere."""
        if error is not None and (error.code in FAULTS or request.path in WITHOUT_TOKEN):
            return
        if metrics := self.options.metrics:
            safe = {"error": error.message} if error is not None and error.code in SAFE_CODES else {}
            fields = {"method": request.method, "path": request.path, **safe}
            metrics.refused(REST, reason, connection_of(request).peer, **fields)

    def _refused(self, reason: str, peer: str) -> None:
        """Count and log a connection that was closed."""
        if metrics := self.options.metrics:
            metrics.refused(REST, reason, peer)

    def _check_connection(self, connection: HttpConnection, request: web.Request) -> None:
        if connection.for_probes and request.path not in WITHOUT_TOKEN:
            raise StatusError(
                StatusCode.UNAVAILABLE,
                f"Too many connections: {self.options.connections.most} are already in use",
            )

    def _check_token(self, request: web.Request) -> None:
        tokens = self.options.tokens
        if tokens is None or request.path in WITHOUT_TOKEN or request.method == "OPTIONS":
            return
        if not tokens.allow(request.headers.get("Authorization", "")):
            raise StatusError(StatusCode.UNAUTHENTICATED, "A valid bearer token is required")

    def _has_room(self) -> bool:
        """Whether one more request may be answered."""
        return self._running < self.options.most_calls

    def _check_limit(self, request: web.Request) -> None:
        most = self.options.most_calls
        if self._running > most and request.path not in WITHOUT_TOKEN:
            raise StatusError(
                StatusCode.RESOURCE_EXHAUSTED, f"Too many requests: {most} are already in progress"
            )

    async def _models(self, request: web.Request) -> web.Response:
        path = request.rel_url.raw_path
        if not MODEL_PATHS.fullmatch(path):
            self._refuse(request, UNKNOWN_PATH)
            return web.Response(status=404, body=_UNKNOWN, headers={"Content-Type": "text/html"})
        if request.method == "OPTIONS":
            return _preflight(request)
        parsed = parse_path(request.method, path)
        options = self.options

        def counted_as(code: StatusCode) -> str:
            return parsed.model if code is StatusCode.OK else self._catalog.counted_as(parsed.model)

        with observed(options, request, parsed.verb, parsed.model, counted_as):
            if request.method == "GET":
                return _json(answer_get(self._catalog, parsed))
            self._catalog.get(parsed.model, parsed.version, parsed.label)  # before reading a large body
            body = await read_body(request, options)
            work = answer_post(self._catalog, parsed, body, options)
            return _json(await within_time(options.timeout_seconds, work))

    async def _openapi(self, request: web.Request) -> web.Response:
        return _json(self._document)

    @cached_property
    def _document(self) -> bytes:
        """The OpenAPI document."""
        return openapi.document(
            with_tokens=self.options.tokens is not None,
            more_paths=self._extra_paths,
            more_schemas=self._extra_schemas,
        )

    def _error(self, status: int, message: str) -> web.Response:
        headers = JSON | ({"WWW-Authenticate": "Bearer"} if status == StatusCode.UNAUTHENTICATED.http else {})
        return web.Response(status=status, body=error_body(message), headers=headers)


def _headers(options: RestOptions) -> dict[str, str]:
    """Return the headers of all responses."""
    cors = _CORS if options.cors else {}
    if options.cors and options.tokens:
        cors = cors | {"Access-Control-Allow-Headers": "Content-Type, Authorization"}
    return {"Server": SERVER_NAME, **cors}


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, headers=JSON)


def _as_json(error: web.HTTPException) -> web.Response:
    headers = JSON | ({"Allow": error.headers["Allow"]} if "Allow" in error.headers else {})
    response = web.Response(status=error.status, body=error_body(error.text or error.reason), headers=headers)
    if error.status in (400, 408, 413):  # the rest of the body is not read
        response.force_close()
    return response


def _preflight(request: web.Request) -> web.Response:
    origin = request.headers.get("Origin", "")
    if "http://" in origin or "https://" in origin:
        return web.Response(body=b"")
    raise StatusError(StatusCode.FAILED_PRECONDITION, "Origin header is missing in CORS preflight")
