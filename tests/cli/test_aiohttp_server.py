"""Servers import aiohttp without its client, which works nevertheless where something uses it."""

import subprocess
import sys
from importlib.metadata import version

import pytest

WITHOUT_MODEL = (["serve"], ["ui", "missing", "--no-browser"])
PROGRAM = """
import sys
from tfport.cli.main import main
main(sys.argv[1:])
imported = [name for name in ("web", "client", "connector", "tracing") if f"aiohttp.{name}" in sys.modules]
import aiohttp
print(*imported, aiohttp.__version__, type(aiohttp).__name__)
"""
USED = """
import asyncio, sys
from tfport.cli.aiohttp_server import import_server_only
import_server_only()
from aiohttp import web
assert "aiohttp.client" not in sys.modules
from aiohttp import ClientSession, hdrs
import aiohttp

async def main():
    app = web.Application()
    app.router.add_get("/", lambda request: answer())
    runner = web.AppRunner(app)
    await runner.setup()
    await (site := web.TCPSite(runner, "127.0.0.1", 0)).start()
    port = site._server.sockets[0].getsockname()[1]
    async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as response:
        print(await response.text(), response.headers[hdrs.CONTENT_TYPE])
    await runner.cleanup()

async def answer():
    return web.Response(text="hello", content_type="text/plain")

asyncio.run(main())
print(type(aiohttp).__name__, isinstance(aiohttp.web.Response(), aiohttp.web.StreamResponse))
print(aiohttp.http.SERVER_SOFTWARE.split()[-1], hasattr(aiohttp, "no_such_name"))
"""


def output(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("command", WITHOUT_MODEL, ids=["serve", "ui"])
def test_a_server_does_not_import_the_client(command):
    assert output(PROGRAM, *command) == ["web", version("aiohttp"), "ServerPackage"]


def test_the_client_works_if_something_uses_it():
    words = output(USED)
    assert words[:3] == ["hello", "text/plain;", "charset=utf-8"]
    assert words[3:5] == ["module", "True"]
    assert words[5:] == [f"aiohttp/{version('aiohttp')}", "False"]


@pytest.mark.parametrize("name", ["no_such_name", "__no_such_name__"])
def test_an_unknown_name_is_an_error(name):
    program = (
        "from tfport.cli.aiohttp_server import import_server_only; import_server_only();"
        f"import aiohttp; print(hasattr(aiohttp, '{name}'), hasattr(aiohttp, '{name}'))"
    )
    assert output(program) == ["False", "False"]


def test_a_package_that_is_imported_already_stays():
    program = (
        "import aiohttp; from tfport.cli.aiohttp_server import import_server_only;"
        "import_server_only(); print(type(aiohttp).__name__, 'ClientSession' in vars(aiohttp))"
    )
    assert output(program) == ["module", "True"]


def test_everything_can_be_imported_by_a_star():
    program = (
        "from tfport.cli.aiohttp_server import import_server_only; import_server_only();"
        "from aiohttp import *; print(ClientSession.__name__)"
    )
    assert output(program) == ["ClientSession"]


@pytest.mark.parametrize("source", [None, "", "version = 3"])
def test_a_package_without_a_readable_version_is_imported_as_usual(tmp_path, source):
    path = tmp_path / "__init__.py"
    if source is not None:
        path.write_text(source)
    program = (
        "import importlib.util, sys; find = importlib.util.find_spec; spec = find('aiohttp');"
        "spec.origin = sys.argv[1]; importlib.util.find_spec = lambda name: spec;"
        "from tfport.cli.aiohttp_server import import_server_only; import_server_only();"
        "import aiohttp; print(type(aiohttp).__name__, aiohttp.ClientSession.__name__)"
    )
    assert output(program, str(path)) == ["module", "ClientSession"]
