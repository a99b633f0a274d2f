"""Connections that keep the server waiting, and too many of them."""

import ast
import asyncio
import inspect
import re
import ssl

import aiohttp
import pytest
from aiohttp import web
from tests.serve.rest.certificates import make
from tests.serve.rest.server import ASK, BODY, HEAD, Port, raw, with_port

from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.rest.connections import ConnectionLimits, HttpConnection
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.tls import server_context

WHOLE = HEAD + b"Content-Length: 18\r\n\r\n" + BODY
GET_LIVE = b"GET /v1/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
SOON, NEVER = 0.1, 1e6


def options(**limits) -> RestOptions:
    return RestOptions(port=0, connections=ConnectionLimits(**limits), metrics=Metrics(process=False))


def refused(port: Port, reason: str) -> bool:
    line = f'tfport_refused_total{{entrypoint="REST",reason="{reason}"}}'
    return line in port.front.options.metrics.text().decode()


def test_aiohttp_has_the_private_attributes_that_connections_read():
    tree = ast.parse(inspect.getsource(HttpConnection))
    read = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    private = {name[5:] for name in read if re.fullmatch(r"self\._\w+", name)} - vars(HttpConnection).keys()
    assert {"_waiter", "_messages", "_keepalive_handle"} <= private
    missing = sorted(name for name in private if not hasattr(web.RequestHandler, name))
    assert not missing, (
        f"aiohttp {aiohttp.__version__} has no RequestHandler.{missing[0]}, which serve/rest/connections.py "
        "reads: read what replaces it, or lower the upper bound of aiohttp in pyproject.toml"
    )


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET", b"HTTP/1.1 408 "),
        (HEAD, b"HTTP/1.1 408 "),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 50, b"HTTP/1.1 408 "),
    ],
)
def test_a_header_that_does_not_end_is_not_waited_for(sent, answer):
    async def check(port: Port) -> None:
        received = await raw(port, sent)
        assert received[: len(answer)] == answer
        assert bool(received) == bool(answer)
        assert refused(port, "header_timeout")

    with_port(check, options(header_seconds=SOON))


def test_the_header_of_a_second_request_has_the_same_time():
    async def check(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(WHOLE)
        assert (await reader.readuntil(b"]\n}")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"GET /v1/models HTTP/1.1\r\nHo")
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
        writer.close()

    with_port(check, options(header_seconds=SOON))


def test_an_answer_and_an_idle_connection_may_take_longer():
    async def check(port: Port) -> None:
        asked = asyncio.ensure_future(port.ask("POST", "/v1/models/gated:predict", BODY))
        await port.gate.waiting.wait()
        late = await raw(port, b"GET")  # comes back when more time than for a header has passed
        assert late.startswith(b"HTTP/1.1 408 ")
        port.gate.open.set()
        assert (await asked)[0] == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        for _ in range(2):
            writer.write(WHOLE)
            assert (await reader.readuntil(b"]\n}")).startswith(b"HTTP/1.1 200 ")
            assert (await raw(port, b"GET")).startswith(b"HTTP/1.1 408 ")
        writer.close()

    with_port(check, options(header_seconds=SOON))


def test_a_body_may_take_longer():
    async def check(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(WHOLE[: -len(BODY)])
        for byte in (BODY[:1], BODY[1:2], BODY[2:]):
            writer.write(byte)
            assert (await raw(port, b"GET")).startswith(b"HTTP/1.1 408 ")  # the time for a header has passed
        assert (await reader.readuntil(b"]\n}")).startswith(b"HTTP/1.1 200 ")
        writer.close()

    with_port(check, options(header_seconds=SOON))


@pytest.mark.parametrize("is_read", [False, True])
def test_a_header_is_not_late_because_the_server_is_busy(is_read):
    """The client has sent it, but the server has not read it, or aiohttp has not begun to answer."""

    async def check(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        table = port.front._listener._table
        while not (connection := next(iter(table._connections), None)) or connection.transport is None:
            await asyncio.sleep(0)
        connection._header_since -= 2 * NEVER
        if is_read:
            connection.data_received(WHOLE)
        else:
            writer.write(WHOLE)
        table.close_late()
        assert (await reader.readuntil(b"]\n}")).startswith(b"HTTP/1.1 200 ")
        assert not refused(port, "header_timeout")
        writer.write(b"GET")
        while connection._header_since is None:
            await asyncio.sleep(0)
        connection._header_since -= 2 * NEVER
        table.close_late()
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
        writer.close()

    with_port(check, options(header_seconds=NEVER))


def test_a_tls_handshake_that_does_not_end_is_not_waited_for(tmp_path):
    make(tmp_path, "ca")
    make(tmp_path, "server", "ca")
    files = [(tmp_path / f"server.{end}").read_bytes() for end in ("pem", "key")]
    limits = ConnectionLimits(header_seconds=SOON)

    async def check(port: Port) -> None:
        for sent in (b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"):
            assert b"HTTP" not in await raw(port, sent)
        assert refused(port, "tls_handshake")
        trusted = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        assert (await port.ask("GET", "/v1/health/live", ssl=trusted))[0] == 200

    metrics = Metrics(process=False)
    with_port(check, RestOptions(port=0, connections=limits, tls=server_context(*files), metrics=metrics))


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"Content-Length: 18\r\n\r\n{", WHOLE])
def test_the_longest_waiting_connection_makes_room(sent):
    async def check(port: Port) -> None:
        opened = []
        for _ in range(50):
            opened.append(await asyncio.open_connection("127.0.0.1", port.port))
            opened[-1][1].write(sent)
        for _ in range(3):
            assert (await raw(port, GET_LIVE)).startswith(b"HTTP/1.1 200 ")
            assert (await port.ask("POST", ASK, BODY))[0] == 200
        await opened[0][0].read()  # closed by the server
        assert refused(port, "too_many_connections")
        for _, writer in opened:
            writer.transport.abort()

    with_port(check, options(most=4, header_seconds=NEVER))


def test_connections_in_use_are_not_closed_and_leave_room_for_probes():
    head = HEAD.replace(b"half", b"gated") + b"Content-Length: 18\r\nConnection: close\r\n\r\n"

    async def check(port: Port) -> None:
        calls = [asyncio.ensure_future(raw(port, head + BODY)) for _ in range(2)]
        while port.gate.begun < 2:
            await asyncio.sleep(0)
        assert (await raw(port, GET_LIVE)).startswith(b"HTTP/1.1 200 ")
        answer = await raw(port, WHOLE)  # closed by the server, as only probes are answered
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Too many connections: 2 are already in use" in answer
        port.gate.open.set()
        for call in calls:
            assert (await call).startswith(b"HTTP/1.1 200 ")
        assert (await port.ask("POST", ASK, BODY))[0] == 200

    with_port(check, options(most=2, reserved=1, header_seconds=NEVER))


@pytest.mark.parametrize(
    "sent", [GET_LIVE, b"nonsense\r\n\r\n", b"GET", b"GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n"]
)
def test_no_answer_reveals_versions(sent):
    async def check(port: Port) -> None:
        head = (await raw(port, sent)).partition(b"\r\n\r\n")[0].decode()
        assert [line for line in head.split("\r\n") if line.startswith("Server:")] == ["Server: tfport"]
        assert "ython" not in head
        assert "aiohttp" not in head

    with_port(check, options(header_seconds=SOON))
