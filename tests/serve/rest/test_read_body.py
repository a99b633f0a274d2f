"""Limits of size and time for bodies and answers."""

import asyncio
import gzip
import itertools

from tests.serve.rest.server import ASK, BODY, HEAD, Port, raw, with_port

from tfport.serve.rest import read_body
from tfport.serve.rest.options import RestOptions


def test_a_body_that_is_too_large_is_refused_before_it_comes():
    async def check(port: Port) -> None:
        for framing in (
            b"Content-Length: 5000\r\n\r\n",
            b"Transfer-Encoding: chunked\r\n\r\n1388\r\n" + b" " * 5000,
        ):
            answer = await raw(port, HEAD + framing)
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b'"error": "The body is larger than 1000 bytes"' in answer
        assert (await port.ask("POST", ASK, BODY))[0] == 200

    with_port(check, RestOptions(port=0, most_bytes=1000))


def test_a_body_that_does_not_come_ends_the_connection():
    async def check(port: Port) -> None:
        answer = await raw(port, HEAD + b'Content-Length: 100\r\n\r\n{"inst')
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"The body was not received within 0.2 seconds" in answer

    with_port(check, RestOptions(port=0, timeout_seconds=0.2))


def test_a_large_body_that_keeps_coming_gets_more_time(monkeypatch):
    monkeypatch.setattr(read_body, "SLOWEST", 10)

    async def pieces():
        yield b'{"instances": [1'
        for _ in range(4):
            await asyncio.sleep(0.1)
            yield b"," + b" " * 9 + b"1"
        yield b"]}"

    async def check(port: Port) -> None:
        async with port.client.post(ASK, data=pieces()) as response:
            assert await response.json() == {"predictions": [2.5] * 5}

    with_port(check, RestOptions(port=0, timeout_seconds=0.2))


def test_a_request_line_that_does_not_come_ends_the_connection():
    async def check(port: Port) -> None:
        for sent in (b"", b"POST /v1/mod", HEAD):
            assert await raw(port, sent) == b""

    with_port(check, RestOptions(port=0, idle_seconds=0.2))


def test_an_answer_that_does_not_come_is_given_up():
    async def check(port: Port) -> None:
        answer = await port.ask("POST", "/v1/models/gated:predict", BODY)
        assert answer == (504, {"error": "Timed out: no answer within 0.2 seconds"})
        assert (await port.ask("POST", ASK, BODY))[0] == 200

    with_port(check, RestOptions(port=0, timeout_seconds=0.2))


def test_a_compressed_body_leaves_the_event_loop_to_others():
    """Some kilobytes become megabytes, which come without waiting."""
    options, body = RestOptions(port=0), gzip.compress(BODY + b" " * 2**24)

    async def check(port: Port) -> None:
        sizes = [0]

        async def watch() -> None:
            while True:
                sizes.append(options.body_budget.in_use)
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        status, _ = await port.ask("POST", ASK, body, headers={"Content-Encoding": "gzip"})
        watching.cancel()
        assert status == 200
        assert max(sizes) > 2**23
        assert max(after - before for before, after in itertools.pairwise(sizes)) < 2**22

    with_port(check, options)
