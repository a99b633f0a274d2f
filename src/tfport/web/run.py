"""The server of `tfport ui`: run it until Ctrl-C, its application, and the guard around all requests."""

from __future__ import annotations

import asyncio
import errno
import gc
import hmac
import logging
import os
import shutil
import signal
import socket as socket_module
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from tfport.errors import Error
from tfport.web.allowed_paths import AllowedPaths
from tfport.web.jobs import JobBoard
from tfport.web.json_answer import MOST_BODY, RefusedRequest, error_answer
from tfport.web.model_store import ModelStore
from tfport.web.options import UiOptions, is_loopback
from tfport.web.routes import details, jobs, models, page, reports
from tfport.web.state import MOST_AT_ONCE, STATE, RecentModels, ServerState
from tfport.web.uploads import Uploads
from tfport.words import bracketed

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
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
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
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
        hosts = frozenset(f"{name}:{port}" for name in _names(host)) if is_loopback(host) else None
        self._runner = web.AppRunner(
            make_app(self.options, hosts),
            access_log=None,
            handle_signals=False,
            shutdown_timeout=SHUTDOWN_S,
            max_line_size=LONGEST_LINE,
        )
        await self._runner.setup()
        await web.SockSite(self._runner, socket).start()
        written = bracketed(host)
        return f"http://{written}:{port}/#token={self.options.token}"

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
            listening.setsockopt(socket_module.SOL_SOCKET, socket_module.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        hint = "; without --port, a free one is taken" if error.errno == errno.EADDRINUSE else ""
        raise Error(f"cannot listen on {host}:{port}: {error.strerror or error}{hint}") from None
    return listening


def _names(host: str) -> set[str]:
    """The names by which a browser may call a server on this machine."""
    return {bracketed(host), "localhost", "127.0.0.1"}


# The application: routes below `/api/v1`, the files of the page, and the guard around them

PREFIX = "/api/v1"
API_ROUTES = [*models.ROUTES, *details.ROUTES, *reports.ROUTES, *jobs.ROUTES, *page.API_ROUTES]


def make_app(options: UiOptions, hosts: frozenset[str] | None = None) -> web.Application:
    """The application; `hosts` are the names that a request may call it by."""
    app = web.Application(middlewares=[Guard(options.token, hosts).around], client_max_size=MOST_BODY)
    allowed = AllowedPaths([*options.allow, *options.models])
    store = ModelStore(allowed, most_open=options.most_open)
    recent = RecentModels() if options.remember else None
    for path in reversed(recent.paths() if recent is not None else []):
        if os.path.exists(path) and allowed.allows(os.path.realpath(path)):
            store.add(path)
    for path in options.models:
        store.add(path)
    folder = Path(tempfile.mkdtemp(prefix="tfport-ui-"))
    received = Uploads(folder / "uploads", options.most_upload)
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
UNKNOWN_PATH = "there is nothing at this address; see /api/v1/openapi.json"
_log = logging.getLogger("tfport.web")


class Guard:
    """The middleware around all requests: host name, token, and headers that protect the answer.

    The host name protects from pages of other sites that make a name lead here (DNS rebinding), the token
    from everyone who was not shown the address. The files of the page itself are public and need only the
    host name.
    """

    def __init__(self, token: str, hosts: frozenset[str] | None) -> None:
        """`hosts` are the names of this server, with the port; None accepts every name."""
        self._token = token.encode()
        self._hosts = hosts

    @web.middleware
    async def around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await self._answer(request, handler)
        response.headers.update(HEADERS)
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._hosts is not None and request.headers.get("Host", "").lower() not in self._hosts:
            return error_answer(421, f"this server has another name; {HINT}")
        if request.path.startswith(API) and not self._has_token(request):
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

    def _has_token(self, request: web.Request) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        matches = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token)
        return scheme.lower() == "bearer" and matches
