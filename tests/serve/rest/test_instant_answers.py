"""Short calls that are answered without aiohttp: like all others, for a client and for the metrics."""

import asyncio
import gzip
import json
from itertools import pairwise

import pytest
from tests.serve.rest.server import Port, half_plus, raw, with_port

from tfport.runtime.session import Session
from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.light_calls import SHORT_CALLS, LightCalls
from tfport.serve.monitoring.measured_runner import MeasuredRunner
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.rest.answer_turns import TURN_SECONDS
from tfport.serve.rest.connections import HELD_SECONDS, ConnectionLimits
from tfport.serve.rest.instant_answers import MOST_BODY
from tfport.serve.rest.options import RestOptions
from tfport.serve.servable import Servable
from tfport.serve.thread_shares import CallThreads

BODY = b'{"instances": [1]}'
ANSWER = b'{\n    "predictions": [2.5\n    ]\n}'
END = ANSWER[-3:]


def request(body=BODY, *fields, model="light"):
    lines = [
        f"POST /v1/models/{model}:predict HTTP/1.1",
        "Host: x",
        f"Content-Length: {len(body)}",
        *fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Recorded:
    """Notes which requests were answered without aiohttp."""

    def __init__(self, answers):
        self.answers, self.instant = answers, []

    def may_answer(self, head):
        return self.answers.may_answer(head)

    def answer(self, head, body):
        response = self.answers.answer(head, body)
        self.instant.append(response is not None)
        return response


class Connection:
    """A connection to a server whose model `light` has light calls; one request was answered."""

    async def open(self, port, sizes=(1,)):
        metrics = port.front.options.metrics or Metrics(process=False)
        session = Session(half_plus(2))
        self.calls = LightCalls(session)
        runner = MeasuredRunner(CallThreads(1), metrics, self.calls, "light", 1)
        port.catalog.publish(Servable("light", 1, session, runner))
        for size in sizes:
            for _ in range(2 * SHORT_CALLS):
                self.calls.ran(("serving_default", ("y",), ((size,),)), 0.0)
        self.table = port.front._listener._table
        self.recorded = self.table.answers = Recorded(self.table.answers)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port.port)
        return self

    async def ask_aiohttp(self, sent):
        self.table.answers = None
        answer = await self.ask(sent)
        self.table.answers = self.recorded
        return answer

    async def ask(self, *parts):
        for part in parts:
            self.writer.write(part)
            await asyncio.sleep(HELD_SECONDS / 20)
        return await self.answer()

    async def answer(self):
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:-2])
        body = await self.reader.readexactly(int(fields["Content-Length"]))
        del fields["Date"]
        return int(head.split()[1]), fields, body


def check_with(test, options=None, **more):
    async def check(port: Port) -> None:
        connection = await Connection().open(port, **more)
        try:
            await test(port, connection)
        finally:
            connection.writer.close()

    with_port(check, options or RestOptions(port=0, metrics=Metrics(process=False)))


def counts(metrics):
    lines = (line.rsplit(" ", 1) for line in metrics.text().decode().splitlines() if line[:1] != "#")
    return {name: value for name, value in lines if value.isdigit() and "le=" not in name}


@pytest.mark.parametrize("cors", [False, True])
def test_an_instant_answer_is_the_answer_of_aiohttp(cors):
    async def check(port, connection):
        first = await connection.ask_aiohttp(request())
        second = await connection.ask(request())
        assert connection.recorded.instant == [True]
        assert first == second
        assert json.loads(second[2]) == {"predictions": [2.5]}
        assert list(first[1]) == list(second[1])

    check_with(check, RestOptions(port=0, cors=cors))


def test_it_is_counted_like_others():
    async def check(port, connection):
        metrics = port.front.options.metrics
        await connection.ask_aiohttp(request())
        once = counts(metrics)
        await connection.ask(request())
        assert connection.recorded.instant == [True]
        twice = counts(metrics)
        changed = {name: (value, twice[name]) for name, value in once.items() if value != twice[name]}
        assert len(changed) >= 8
        assert set(once) == set(twice)
        assert set(changed.values()) == {("1", "2")}

    check_with(check)


@pytest.mark.parametrize("cut", [1, -1, -len(BODY)])
def test_head_and_body_may_come_one_after_the_other(cut):
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        whole = request()
        status, _, body = await connection.ask(whole[:cut], whole[cut:])
        assert (status, json.loads(body)) == (200, {"predictions": [2.5]})
        assert connection.recorded.instant == ([True] if cut < 0 else [])

    check_with(check)


def test_a_body_may_come_late_or_never():
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        whole = request()
        connection.writer.write(whole[:-5])
        await asyncio.sleep(2 * HELD_SECONDS)
        assert (await connection.ask(whole[-5:]))[0] == 200
        assert (await connection.ask(whole))[0] == 200
        assert connection.recorded.instant == [True]
        connection.writer.write(whole[:-5])
        connection.writer.write_eof()
        assert await connection.reader.read() == b""

    check_with(check)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"instances": [', "JSON Parse error"),
        (b'{"instances": ["a"]}', "Failed to process element: 0 of 'instances' list"),
        (b'{"instances": [1], "signature_name": "none"}', 'Serving signature name: "none" not found'),
        (b"", "JSON Parse error: The document is empty"),
    ],
)
def test_errors_are_those_of_other_requests_and_counted_once(body, error):
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        status, _, answer = await connection.ask(request(body))
        assert status == 400
        assert json.loads(answer)["error"].startswith(error)
        line = ':tensorflow:serving:request_count{model_name="light",status="INVALID_ARGUMENT"}'
        assert counts(port.front.options.metrics)[line] == "1"

    check_with(check)


@pytest.mark.parametrize(
    "sent",
    [
        request(b'{"instances": [1, 2]}'),  # no short call yet
        request(model="half"),
        request(model="none"),
        request(BODY + b" " * MOST_BODY),
        request(BODY, "Expect: 100-continue"),
        b"GET /v1/models/light HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_other_requests_are_left_to_aiohttp(sent):
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        connection.writer.write(sent)
        await connection.reader.readuntil(b"HTTP/1.1 ")
        assert True not in connection.recorded.instant

    check_with(check)


def test_requests_that_do_not_wait_for_an_answer_are_answered_in_order():
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        gated = asyncio.ensure_future(connection.ask(request(model="gated"), request()))
        await port.gate.waiting.wait()
        await asyncio.sleep(HELD_SECONDS)
        assert not gated.done()
        port.gate.open.set()
        assert json.loads((await gated)[2]) == {"predictions": [2.5]}
        assert (await connection.answer())[0] == 200
        for _ in range(2):
            connection.writer.write(request() + request())
            assert [(await connection.answer())[0] for _ in range(2)] == [200, 200]

    check_with(check)


def test_a_client_that_sends_part_of_a_header_is_not_misunderstood():
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        status, _, _ = await connection.ask(
            b"GET /v1/models/light HTTP/1.1\r\nX: ", request(BODY).removesuffix(BODY), b""
        )
        assert status == 200
        assert connection.recorded.instant == []

    check_with(check)


def test_a_token_is_needed(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("secret\n")
    token = "Authorization: Bearer secret"

    async def check(port, connection):
        assert (await connection.ask_aiohttp(request(BODY, token)))[0] == 200
        assert (await connection.ask(request(BODY, token)))[0] == 200
        assert connection.recorded.instant == [True]
        assert (await connection.ask(request()))[0] == 401
        assert (await connection.ask(request(BODY, token + "x")))[0] == 401

    check_with(check, RestOptions(port=0, tokens=AuthTokens(str(file))))


def test_requests_beyond_the_most_are_refused():
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        first = asyncio.ensure_future(port.ask("POST", "/v1/models/gated:predict", BODY))
        await port.gate.waiting.wait()
        assert (await connection.ask(request()))[0] == 429
        port.gate.open.set()
        assert (await first)[0] == 200

    check_with(check, RestOptions(port=0, most_calls=1))


def test_long_answers_are_compressed_for_clients_that_accept_it():
    body = json.dumps({"instances": [0.123] * 500}).encode()

    async def check(port, connection):
        await connection.ask_aiohttp(request())
        for _ in range(2):
            status, fields, answer = await connection.ask(request(body, "Accept-Encoding: gzip"))
            assert (status, fields["Content-Encoding"], fields["Vary"]) == (200, "gzip", "Accept-Encoding")
            assert len(json.loads(gzip.decompress(answer))["predictions"]) == 500
        assert connection.recorded.instant == [False, False]

    check_with(check, RestOptions(port=0, gzip_from=1000), sizes=(1, 500))


def test_a_connection_with_instant_answers_is_neither_late_nor_idle():
    async def check(port, connection):
        loop = asyncio.get_running_loop()
        await connection.ask_aiohttp(request())
        until = loop.time() + 1.0
        while loop.time() < until:
            assert (await connection.ask(request()))[0] == 200
        assert all(connection.recorded.instant)
        assert await connection.reader.read() == b""  # closed when it is idle

    limits = ConnectionLimits(header_seconds=0.2)
    check_with(check, RestOptions(port=0, idle_seconds=0.5, connections=limits))


def test_a_server_that_stops_closes_the_connection_after_the_answer():
    async def check(port, connection):
        await connection.ask_aiohttp(request())
        slow = asyncio.ensure_future(raw(port, request(BODY, "Connection: close", model="gated")))
        await port.gate.waiting.wait()
        stopping = asyncio.ensure_future(port.front.stop(5))
        await asyncio.sleep(0)
        status, fields, _ = await connection.ask(request())
        assert (status, fields["Connection"]) == (200, "close")
        port.gate.open.set()
        await stopping
        assert (await slow).startswith(b"HTTP/1.1 200 ")

    check_with(check)


def test_many_requests_of_one_moment_are_answered_in_several_iterations():
    in_a_turn = 4

    async def check(port, connection):
        clients = [await asyncio.open_connection("127.0.0.1", port.port) for _ in range(3 * in_a_turn)]
        for reader, writer in clients:  # aiohttp answers the first request of each
            writer.write(request())
            await reader.readuntil(END)
        instant, counted = connection.recorded.instant, [0]
        instant.clear()
        turns = connection.table.turns
        turns._began = turns._answered = 0.0
        turns._clock = lambda: len(instant) * TURN_SECONDS / in_a_turn

        async def watch():
            while True:
                await asyncio.sleep(0)
                counted.append(len(instant))

        watching = asyncio.ensure_future(watch())
        for _, writer in clients:
            writer.write(request())
        answers = [await reader.readuntil(END) for reader, _ in clients]
        watching.cancel()
        assert instant == [True] * len(clients)
        assert {answer.partition(b"\r\n\r\n")[2] for answer in answers} == {ANSWER}
        assert max(after - before for before, after in pairwise(counted)) <= 2 * in_a_turn
        for _, writer in clients:
            writer.close()

    check_with(check)


def test_a_request_that_waits_for_its_turn_is_answered_by_a_server_that_stops():
    async def check(port, connection):
        await connection.ask(request())
        connection.recorded.instant.clear()
        await wait_for_turn(connection)
        assert not connection.table._waiting  # it is busy, and not closed for others
        connection.table.answers = None
        status, _, body = await connection.answer()
        assert (status, body) == (200, ANSWER)
        assert connection.recorded.instant == []

    check_with(check)


async def wait_for_turn(connection):
    """Send a request that must wait, as there were enough answers."""
    turns = connection.table.turns
    turns._began = turns._answered - 2 * TURN_SECONDS
    turns._clock = lambda: turns._answered
    connection.writer.write(request())
    while not turns._postponed:
        await asyncio.sleep(0)
