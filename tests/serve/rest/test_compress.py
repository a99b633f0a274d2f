"""Compressed requests and responses."""

import gzip
import json
import zlib

import pytest
from tests.serve.rest.server import ASK, BODY, Port, with_port

from tfport.serve.rest.options import RestOptions


def test_compressed_requests_are_read():
    async def check(port: Port) -> None:
        for coding, data in {"gzip": gzip.compress(BODY), "deflate": zlib.compress(BODY)}.items():
            answer = await port.ask("POST", ASK, data, headers={"Content-Encoding": coding})
            assert answer == (200, {"predictions": [2.5]})
        for data in (BODY, gzip.compress(BODY)[:16], b""):
            status, body = await port.ask("POST", ASK, data, headers={"Content-Encoding": "gzip"})
            assert (status, list(body)) == (400, ["error"])

    with_port(check)


def test_a_small_request_that_becomes_huge_is_stopped():
    bomb = gzip.compress(b" " * 2**26)

    async def check(port: Port) -> None:
        status, body = await port.ask("POST", ASK, bomb, headers={"Content-Encoding": "gzip"})
        assert (status, body) == (413, {"error": f"The body is larger than {2**20} bytes"})

    with_port(check, RestOptions(port=0, most_bytes=2**20))


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip", "gzip"), ("deflate, gzip;q=0.5", "gzip"), ("*", "gzip"), ("gzip;q=0", None), ("", None)],
)
def test_large_answers_are_compressed_for_clients_that_accept_it(accepted, coding):
    numbers = list(range(4000))

    async def check(port: Port) -> None:
        for rows, expected in ((numbers, coding), (numbers[:3], None)):
            sent = json.dumps({"instances": rows})
            headers = {"Accept-Encoding": accepted}
            async with port.client.post(ASK, data=sent, headers=headers) as response:
                assert response.headers.get("Content-Encoding") == expected
                assert (await response.json())["predictions"] == [n / 2 + 2 for n in rows]

    with_port(check)
