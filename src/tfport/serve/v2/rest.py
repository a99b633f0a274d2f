"""The Open Inference Protocol over REST: `/v2/…`, with Triton's extension for binary tensors.

    RestServer(catalog, extra_routes=routes(catalog, ready, options), ready=ready, options=options)

`serve.rest` handles compression, tokens and error responses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from aiohttp import web

from tfport.serve.event_loop import offload
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.rest.middleware import observed, within_time
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.read_body import read_body
from tfport.serve.servable import Servable, size_of
from tfport.serve.status import StatusCode, StatusError
from tfport.serve.v2 import metadata
from tfport.serve.v2.body import LENGTH, parse_json, read_request, write_answer
from tfport.serve.v2.infer import infer
from tfport.serve.workers.pool import Body
from tfport.serve.workers.transfer import MemoryFile

Handler = Callable[[web.Request], Awaitable[web.Response]]


def routes(
    catalog: ModelCatalog, ready: metadata.Ready, options: RestOptions | None = None
) -> list[web.RouteDef]:
    """Return the routes to add to `RestServer`."""
    model = "/v2/models/{name}"
    version = model + "/versions/{version}"
    handlers = _Handlers(catalog, ready, options or RestOptions())
    table: list[tuple[str, str, Handler]] = [
        ("GET", "/v2", handlers.server),
        ("GET", "/v2/", handlers.server),
        ("GET", "/v2/health/live", handlers.live),
        ("GET", "/v2/health/ready", handlers.ready),
        ("POST", "/v2/repository/index", handlers.index),
        ("GET", "/v2/repository/index", handlers.index),
        ("*", "/v2/{path:.*}", handlers.nothing),
    ]
    for where in (model, version):
        table += [
            ("GET", where, handlers.model),
            ("GET", f"{where}/ready", handlers.model_ready),
            ("POST", f"{where}/infer", handlers.infer),
        ]
    return [web.route(method, path, handler) for method, path, handler in table]


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


class _Handlers:
    def __init__(self, catalog: ModelCatalog, ready: metadata.Ready, options: RestOptions) -> None:
        self.catalog, self.is_ready, self.options = catalog, ready, options

    async def server(self, _: web.Request) -> web.Response:
        return _json(metadata.server_metadata())

    async def live(self, _: web.Request) -> web.Response:
        return _json({"live": True})

    async def ready(self, _: web.Request) -> web.Response:
        ready = self.is_ready()
        return _json({"ready": ready}, 200 if ready else StatusCode.UNAVAILABLE.http)

    async def model(self, request: web.Request) -> web.Response:
        signature = request.query.get("signature_name", "")
        return _json(metadata.model_metadata(self.catalog, *_model_and_version(request), signature))

    async def model_ready(self, request: web.Request) -> web.Response:
        name, version = _model_and_version(request)
        ready = metadata.is_ready(self.catalog, name, version)
        if not ready and name not in self.catalog.names():
            metadata.find(self.catalog, name, version)
        return _json({"name": name, "ready": ready}, 200 if ready else StatusCode.UNAVAILABLE.http)

    async def index(self, request: web.Request) -> web.Response:
        body = await read_body(request, self.options)
        only_ready = await self.options.workers.read(body, _asks_for_ready)
        return _json(metadata.repository_index(self.catalog, only_ready))

    async def nothing(self, request: web.Request) -> web.Response:
        raise StatusError(StatusCode.NOT_FOUND, f"no such path: {request.method} {request.path}")

    async def infer(self, request: web.Request) -> web.Response:
        name, version = _model_and_version(request)
        options = self.options
        with observed(options, request, "infer", name, lambda _: self.catalog.counted_as(name)):
            servable = metadata.find(self.catalog, name, version)  # before reading a large body
            body = await read_body(request, options)
            work = _inferred(servable, body, request.headers.get(LENGTH), options)
            return await within_time(options.timeout_seconds, work)


async def _inferred(servable: Servable, body: Body, length: str | None, options: RestOptions) -> web.Response:
    if length is not None and isinstance(body, MemoryFile):  # binary tensors need no parsing
        parsed = await offload(len(body), read_request, body.view(), length, servable.interface)
    else:
        parsed = await options.workers.read(body, read_request, length, servable.interface)
    answers = await infer(servable, parsed.request, options.request_log)
    head, tensors = await offload(size_of(answers), write_answer, servable, parsed, answers)
    if not parsed.has_binary(answers):
        return web.Response(body=head, content_type="application/json")
    return web.Response(
        body=b"".join([head, *tensors]),
        content_type="application/octet-stream",
        headers={LENGTH: str(len(head))},
    )


def _asks_for_ready(body: bytes) -> bool:
    """Whether a request for the index asks only for models that are ready."""
    document = parse_json(body) if body.strip() else {}
    return isinstance(document, dict) and document.get("ready") is True


def _model_and_version(request: web.Request) -> tuple[str, str]:
    return request.match_info["name"], request.match_info.get("version", "")
