"""Run the server of `tfport ui` until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import gc
import signal
import socket as socket_module
import sys
import threading
import webbrowser

from aiohttp import web

from tfport.errors import Error
from tfport.web.app import make_app
from tfport.web.options import UiOptions, is_loopback

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
SHUTDOWN_S = 0.5
"""How long requests may go on after Ctrl-C."""


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


LONGEST_LINE = 1 << 18
"""The most bytes of a request line: names of nodes are part of addresses, and may be long."""


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
        written = f"[{host}]" if ":" in host else host
        return f"http://{written}:{port}/#token={self.options.token}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


def _listen(host: str, port: int) -> socket_module.socket:
    try:
        family, kind, protocol, _, address = socket_module.getaddrinfo(
            host, port, type=socket_module.SOCK_STREAM, flags=socket_module.AI_PASSIVE
        )[0]
        listening = socket_module.socket(family, kind, protocol)
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
    return {host if ":" not in host else f"[{host}]", "localhost", "127.0.0.1"}
