"""HTTP: CORS, broken clients, many connections, stopping."""

import asyncio
import resource
import socket

import pytest
from aiohttp import web
from tests.serve.rest.server import ASK, BODY, HEAD, Port, raw, serving, with_port

from tfport.errors import Error
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.rest.connections import ConnectionLimits
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.server import RestServer

# -- browsers ----------------------------------------------------------------------------------------


def test_cross_origin_requests_are_allowed_if_enabled():
    async def check(port: Port) -> None:
        for method, origin, status in [
            ("OPTIONS", {"Origin": "http://example.com"}, 200),
            ("OPTIONS", {}, 400),
            ("POST", {}, 200),
            ("GET", {}, 400),
        ]:
            async with port.client.request(method, ASK, data=BODY, headers=origin) as response:
                assert response.status == status
                assert response.headers.get("Access-Control-Allow-Origin") == ("*" if cors else None)
                assert response.headers.get("Access-Control-Allow-Methods") == ("POST, GET" if cors else None)

    for cors in (True, False):
        with_port(check, RestOptions(port=0, cors=cors))


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_the_content_type_of_a_request_does_not_matter(kind):
    async def check(port: Port) -> None:
        assert (await port.ask("POST", ASK, BODY, headers={"Content-Type": kind}))[0] == 200

    with_port(check)


# -- broken clients ----------------------------------------------------------------------------------

BROKEN = [
    b"GARBAGE\r\n\r\n",
    b"GET /v1/models HTTP/9.9\r\n\r\n",
    b"GET /v1/models HTTP/1.1\r\nHost x\r\n\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: many\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS hello
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


def test_broken_http_is_refused_and_others_are_answered(caplog):
    async def check(port: Port) -> None:
        for sent in BROKEN:
            answer = await raw(port, sent, half_closed=True)
            assert not answer or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400")), (sent[:40], answer)
        assert (await port.ask("POST", ASK, BODY))[0] == 200

    with_port(check)
    assert not [record for record in caplog.records if record.exc_info]


def test_clients_that_go_away_leave_nothing_behind(caplog):
    async def check(port: Port) -> None:
        for sent in (HEAD + b'Content-Length: 100\r\n\r\n{"inst', HEAD[:30], b""):
            _, writer = await asyncio.open_connection("127.0.0.1", port.port)
            writer.write(sent)
            await writer.drain()
            while sent.endswith(b"inst") and not port.front._running:
                await asyncio.sleep(0)
            writer.transport.abort()
        gated = HEAD.replace(b"half", b"gated") + b"Content-Length: 18\r\n\r\n" + BODY
        _, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(gated)
        await port.gate.waiting.wait()
        writer.transport.abort()
        port.gate.open.set()
        servable = port.catalog.get("gated")
        while servable.running or port.front._running:
            await asyncio.sleep(0)
        assert (await port.ask("POST", ASK, BODY))[0] == 200

    with_port(check)
    assert not [record for record in caplog.records if record.exc_info or record.name.startswith("tfport")]


def test_an_internal_error_is_reported_without_its_traceback(caplog):
    async def broken(request: web.Request) -> web.Response:
        raise ZeroDivisionError("secret")

    async def check(port: Port) -> None:
        assert await port.ask("GET", "/v2/broken") == (
            500,
            {"error": "Internal error; see the server's log"},
        )

    with_port(check, extra_routes=[web.get("/v2/broken", broken)])
    assert "secret" in caplog.text


# -- connections -------------------------------------------------------------------------------------


def test_requests_on_one_connection_are_answered_in_turn():
    async def check(port: Port) -> None:
        request = HEAD + b"Content-Length: 18\r\n\r\n" + BODY
        last = request.replace(b"Host: x", b"Host: x\r\nConnection: close")
        answer = await raw(port, request * 9 + last)
        assert answer.count(b"HTTP/1.1 200 OK") == 10
        assert answer.count(b'"predictions": [2.5\n') == 10

    with_port(check)


def test_a_client_of_http_1_0_is_answered():
    async def check(port: Port) -> None:
        answer = await raw(port, b"GET /v1/models/half HTTP/1.0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.0 200 OK")

    with_port(check)


def test_a_client_that_waits_for_100_continue_is_answered():
    async def check(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(HEAD + b"Content-Length: 18\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 100 Continue\r\n"
        writer.write(BODY)
        assert b'"predictions": [2.5\n' in await reader.read()
        writer.close()

    with_port(check)


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2200, reason="too few open files allowed")
def test_a_thousand_connections_at_once():
    async def check(port: Port) -> None:
        request = HEAD + b"Content-Length: 18\r\n\r\n" + BODY
        ends = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port.port) for _ in range(1000)))
        for _ in range(2):
            for _, writer in ends:
                writer.write(request)
            heads = await asyncio.gather(*(reader.readuntil(b"]\n}") for reader, _ in ends))
            assert all(head.startswith(b"HTTP/1.1 200") for head in heads)
        for _, writer in ends:
            writer.close()

    # on a busy machine, it may take longer to open them than a client may be silent
    with_port(check, RestOptions(port=0, connections=ConnectionLimits(header_seconds=3600)))


# -- stopping ----------------------------------------------------------------------------------------


def test_what_has_begun_is_answered_before_the_port_closes():
    async def check(port: Port) -> None:
        asked = asyncio.create_task(port.ask("POST", "/v1/models/gated:predict", BODY))
        await port.gate.waiting.wait()
        stopped = asyncio.create_task(port.front.stop(30))
        while True:  # until the port is closed
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port.port)
                writer.close()
            except OSError:
                break
        assert not stopped.done()
        port.gate.open.set()
        assert await asked == (200, {"predictions": [2.5]})
        await stopped

    with_port(check)


def test_what_the_system_has_received_is_answered_before_the_port_closes():
    """The event loop is blocked meanwhile, so the server has accepted none of the connections yet."""

    async def check(port: Port) -> None:
        request = HEAD + b"Content-Length: 18\r\n\r\n" + BODY
        clients = [socket.create_connection(("127.0.0.1", port.port), 60) for _ in range(50)]
        for client in clients:
            client.sendall(request)
        await port.front.stop(30)
        for client in clients:
            with client:
                assert client.recv(1000).startswith(b"HTTP/1.1 200 ")

    with_port(check)


def test_what_does_not_end_in_time_is_cut_off(caplog):
    async def check(port: Port) -> None:
        asked = asyncio.create_task(port.ask("POST", "/v1/models/gated:predict", BODY))
        await port.gate.waiting.wait()
        await port.front.stop(0.1)
        with pytest.raises(Exception, match="disconnected"):
            await asked

    with_port(check)
    assert "1 REST requests were cut off" in caplog.text


def test_a_port_that_is_taken_is_an_error():
    async def run() -> None:
        async with serving() as port:
            with pytest.raises(Error, match=r"REST cannot listen on [\d.:]+: address already in use"):
                await RestServer(
                    port.catalog, ready=lambda: True, options=RestOptions(port=port.port)
                ).start()

    asyncio.run(run())


# -- others ------------------------------------------------------------------------------------------


def test_other_parts_add_paths_of_their_own():
    async def hello(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def check(port: Port) -> None:
        assert await port.ask("GET", "/v2/hello") == (200, b"hello")
        assert (await port.ask("POST", ASK, BODY))[0] == 200

    with_port(check, extra_routes=[web.get("/v2/hello", hello)])


def test_requests_are_counted():
    metrics = Metrics(process=False)

    async def check(port: Port) -> None:
        await port.ask("POST", ASK, BODY)
        await port.ask("POST", ASK, b"{}")
        await port.ask("POST", "/v1/models/absent:predict", b"{}")
        await port.ask("POST", "/v1/models/examples:regress", {"examples": [{}, {}]})

    with_port(check, RestOptions(port=0, metrics=metrics))
    text = metrics.text().decode()
    assert ':tensorflow:serving:request_count{model_name="half",status="OK"} 1' in text
    assert ':tensorflow:serving:request_count{model_name="half",status="INVALID_ARGUMENT"} 1' in text
    assert ':tensorflow:serving:request_example_count_total{model="examples"} 2' in text
    assert 'stage="decode"' in text
    assert "absent" not in text  # or clients could fill the memory with names
