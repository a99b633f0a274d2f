"""The server of `tfport ui`: run it until Ctrl-C, its application, and the guard around all requests."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import re
import shutil
import socket as socket_module
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from tfport.errors import Error
from tfport.operating_system import on_stop_signals, use_address
from tfport.web.allowed_paths import AllowedPaths
from tfport.web.jobs import JobBoard
from tfport.web.json_answer import JSON, MOST_BODY, RefusedRequest, error_answer
from tfport.web.model_store import ModelStore
from tfport.web.options import UiOptions, is_loopback
from tfport.web.routes import details, jobs, models, page, reports
from tfport.web.state import MOST_AT_ONCE, STATE, RecentModels, ServerState
from tfport.web.token import ServerToken
from tfport.web.uploads import Uploads
from tfport.words import bracketed

SHUTDOWN_S = 0.5
"""How long requests may go on after Ctrl-C."""
LONGEST_LINE = 1 << 18
"""The most bytes of a request line: names of nodes are part of addresses, and may be long."""


def run(options: UiOptions, *, open_browser: bool = True) -> int:
    """Serve; returns the exit code."""
    gc.enable()  # short commands run without it
    return asyncio.run(_serve(options, open_browser))


async def _serve(options: UiOptions, open_browser: bool) -> int:
    stopping = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), stopping.set)
    server = UiServer(options)
    try:
        address = await server.start()
        print(f"tfport ui: {address}", file=sys.stderr)
        print("Press Ctrl-C to stop.", file=sys.stderr)
        if open_browser:
            # a browser in a terminal, or none, must not stop the server
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        await stopping.wait()
    finally:
        await server.stop()
    print("tfport ui: stopped", file=sys.stderr)
    return 0


class UiServer:
    """The server on its port."""

    def __init__(self, options: UiOptions) -> None:
        self.options = options
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """Listen; returns the address with the token, which a browser opens."""
        host, port = self.options.host, self.options.port
        socket = _listen(host, port)
        port = socket.getsockname()[1]
        self._app = make_app(self.options)
        self._runner = web.AppRunner(
            self._app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=SHUTDOWN_S,
            max_line_size=LONGEST_LINE,
        )
        await self._runner.setup()
        await web.SockSite(self._runner, socket).start()
        return f"http://{bracketed(host)}:{port}/#token={self.options.token}{self._first_view()}"

    def _first_view(self) -> str:
        """Where the page begins: at the model, if exactly one was named."""
        models = self._app[STATE].store.all()[: len(self.options.models)]
        return f"&/model/{models[0].id}/overview" if len(self.options.models) == 1 else ""

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


def _listen(host: str, port: int) -> socket_module.socket:
    try:
        family, socket_type, protocol, _, address = socket_module.getaddrinfo(
            host, port, type=socket_module.SOCK_STREAM, flags=socket_module.AI_PASSIVE
        )[0]
        listening = socket_module.socket(family, socket_type, protocol)
        try:
            use_address(listening)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)  # the second one on Windows
        hint = "; without --port, a free one is taken" if taken else ""
        raise Error(f"cannot listen on {host}:{port}: {error.strerror or error}{hint}") from None
    return listening


# The application: routes below `/api/v1`, the files of the page, and the guard around them

PREFIX = "/api/v1"
API_ROUTES = [
    *models.ROUTES,
    *details.ROUTES,
    *reports.ROUTES,
    *jobs.ROUTES,
    *page.API_ROUTES,
]


def make_app(options: UiOptions) -> web.Application:
    """The application."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="tfport-ui-")))
    received = Uploads(folder / "uploads", options.most_upload)
    app = web.Application(middlewares=[Guard(options, received).around], client_max_size=MOST_BODY)
    allowed = AllowedPaths([*options.allow, *options.models])
    store = ModelStore(allowed, most_open=options.most_open)
    recent = RecentModels() if options.remember else None
    for path in reversed(recent.paths() if recent is not None else []):
        if os.path.exists(path) and allowed.allows(os.path.realpath(path)):
            store.add(path)
    for path in reversed(options.models):  # the list of models begins with the one added last
        store.add(path)
    allowed.add(folder / "uploads")
    board = JobBoard(folder / "jobs", most_running=options.most_jobs)
    app[STATE] = ServerState(options, store, asyncio.Semaphore(MOST_AT_ONCE), board, received, folder, recent)

    async def clean(_: web.Application) -> None:
        await board.close()
        shutil.rmtree(folder, ignore_errors=True)

    app.on_cleanup.append(clean)
    for route in API_ROUTES:
        app.router.add_route(route.method, PREFIX + route.path, route.handler)
    app.add_routes(page.ROUTES)
    return app


# The guard

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
API = "/api/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
HINT = "open the address that `tfport ui` printed"
ALLOW_HOST = "start it with --allow-host and this name if that is intended"
UNKNOWN_PATH = "there is nothing at this address; see /api/v1/openapi.json"
_log = logging.getLogger("tfport.web")


class Guard:
    """The middleware around all requests: host name, token, and headers that protect the answer.

    The host name protects from pages of other sites that make a name lead here (DNS rebinding); its port is
    not compared, because a tunnel such as `ssh -L 9999:localhost:8500` has another one. The token protects
    from everyone who was not shown the address. The files of the page itself are public and need only the
    host name. Files that were dropped into the page have their own names in answers, not temporary paths.
    """

    def __init__(self, options: UiOptions, uploads: Uploads) -> None:
        self._token = ServerToken(options.token)
        self._host, self._allowed = options.host, frozenset(map(str.lower, options.allow_hosts))
        self._uploads = uploads

    @web.middleware
    async def around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await self._answer(request, handler)
        response.headers.update(HEADERS)
        if isinstance(response, web.Response) and response.content_type == JSON:
            response.body = self._uploads.with_own_names(bytes(response.body or b""))  # type: ignore[arg-type]
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._accepts(host_name(request.headers.get("Host", ""))):
            return error_answer(421, f"this server has another name; {HINT}, or {ALLOW_HOST}")
        if request.path.startswith(API) and not self._token.admits(request):
            return error_answer(401, f"the token is missing or wrong; {HINT}")
        try:
            return await handler(request)
        except RefusedRequest as refusal:
            return error_answer(refusal.status, str(refusal))
        except Error as error:
            return error_answer(400, str(error))
        except web.HTTPException as error:
            return error_answer(error.status, UNKNOWN_PATH if error.status == 404 else error.reason)
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            _log.exception("%s %s", request.method, request.path)
            return error_answer(500, "the server failed; its terminal shows where, please report it")

    def _accepts(self, name: str) -> bool:
        """Whether a request may call the server by a name; one that others reach has every name."""
        if not is_loopback(self._host) and not self._allowed:
            return True
        return is_loopback(name) or name in {self._host.lower(), *self._allowed}


def host_name(header: str) -> str:
    """The name in a `Host` header, without the port and the brackets of an IPv6 address."""
    match = re.fullmatch(r"(?:\[([\w:.]+)\]|([^\[\]:\s]+))(?::\d{1,5})?", header.strip().lower())
    return (match[1] or match[2]) if match else ""
