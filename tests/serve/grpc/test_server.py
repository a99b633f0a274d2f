"""The server: limits, deadlines, clients that disconnect, stopping, a Unix socket, channel arguments."""

from __future__ import annotations

import asyncio
import time

import grpc
import pytest
from tests.serve.grpc.server import GATED, HALF, Port, never, tensor, until, with_port

from tfport.errors import Error
from tfport.serve.grpc.options import GrpcOptions, channel_arguments
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.status import StatusCode


def test_many_calls_at_a_time_are_all_answered():
    async def test(port: Port) -> None:
        async def one(number: int) -> None:
            outputs = await port.predict("half", {"x": tensor("float32", [float(number)])})
            assert outputs["y"].tolist() == [number / 2 + 2]

        await asyncio.gather(*map(one, range(64)))

    with_port(test)


def test_calls_beyond_the_most_are_refused_at_once():
    async def test(port: Port) -> None:
        first = asyncio.ensure_future(port.ask("Predict", GATED))
        await port.gate.waiting.wait()
        code, _ = await port.refusal("Predict", HALF)
        assert code is StatusCode.RESOURCE_EXHAUSTED
        port.gate.open.set()
        assert await first

    with_port(test, GrpcOptions(most_calls=1))


def test_a_message_over_the_limit_is_refused_and_the_next_is_answered():
    async def test(port: Port) -> None:
        big = {"x": tensor("float32", [0.0] * 5000)}
        code, _ = await port.refusal("Predict", {**HALF, "inputs": big})
        assert code is StatusCode.RESOURCE_EXHAUSTED
        assert await port.ask("Predict", HALF)

    with_port(test, GrpcOptions(largest_message=10_000))


def test_a_message_of_many_megabytes_comes_and_goes():
    async def test(port: Port) -> None:
        options = [("grpc.max_receive_message_length", -1)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port}", options) as channel:
            big = {"x": tensor("float32", [1.0] * 5_000_000)}
            answer = await port.ask("Predict", {**HALF, "inputs": big}, channel=channel)
            assert len(answer.outputs["y"].float_val) == 5_000_000

    with_port(test)


def test_a_call_is_given_up_when_its_deadline_passes():
    async def test(port: Port) -> None:
        code, _ = await port.refusal("Predict", GATED, timeout=0.2)
        assert code is StatusCode.DEADLINE_EXCEEDED
        await until(lambda: port.gate.cancelled == 1)
        assert port.catalog.get("gated").running == 0

    with_port(test)


def test_a_call_whose_deadline_has_passed_is_not_begun():
    async def test(port: Port) -> None:
        assert await port.ask("Predict", HALF)
        call = asyncio.ensure_future(port.refusal("Predict", GATED, timeout=0.1))
        await asyncio.sleep(0)
        time.sleep(0.3)  # the server's loop is blocked, and the call waits beyond its deadline
        assert (await call)[0] is StatusCode.DEADLINE_EXCEEDED
        assert await port.ask("Predict", HALF)
        assert port.gate.begun == 0

    with_port(test)


def test_a_client_that_leaves_ends_its_call():
    async def test(port: Port) -> None:
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port.port}")
        call = asyncio.ensure_future(port.ask("Predict", GATED, channel=channel))
        await port.gate.waiting.wait()
        await channel.close()
        await until(lambda: port.gate.cancelled == 1)
        await asyncio.gather(call, return_exceptions=True)
        assert await port.ask("Predict", HALF)

    with_port(test)


def test_stopping_lets_calls_end_and_takes_no_more():
    async def test(port: Port) -> None:
        call = asyncio.ensure_future(port.ask("Predict", GATED))
        await port.gate.waiting.wait()
        stop = asyncio.ensure_future(port.front.stop(10))
        await asyncio.sleep(0)
        port.gate.open.set()
        assert await call
        await stop
        code, _ = await port.refusal("Predict", HALF)
        assert code is StatusCode.UNAVAILABLE

    with_port(test)


def test_a_port_that_is_taken_is_an_error():
    async def test(port: Port) -> None:
        front = GrpcServer(ModelCatalog(), reload=never, options=GrpcOptions(port=port.port))
        with pytest.raises(Error, match=f"gRPC cannot listen on 127.0.0.1:{port.port}"):
            await front.start()

    with_port(test)


def test_a_front_without_any_address_is_an_error():
    with pytest.raises(Error, match="needs a port or a socket path"):
        asyncio.run(GrpcServer(ModelCatalog(), reload=never, options=GrpcOptions(port=None)).start())


def test_a_unix_socket_answers(tmp_path):
    async def test(port: Port) -> None:
        assert port.port == 0
        assert await port.ask("Predict", HALF)

    with_port(test, GrpcOptions(port=None, socket_path=str(tmp_path / "socket")))


def test_channel_arguments_are_numbers_or_texts():
    assert channel_arguments("grpc.max_connection_age_ms=2000,grpc.x=-1,a=b=c,") == {
        "grpc.max_connection_age_ms": 2000,
        "grpc.x": -1,
        "a": "b=c",
    }
    with pytest.raises(Error, match="expected key=value, found `x`"):
        channel_arguments("x")


def test_channel_arguments_reach_grpc():
    async def test(port: Port) -> None:
        big = {"x": tensor("float32", [0.0] * 5000)}
        code, _ = await port.refusal("Predict", {**HALF, "inputs": big})
        assert code is StatusCode.RESOURCE_EXHAUSTED

    with_port(test, GrpcOptions(channel_arguments={"grpc.max_receive_message_length": 10_000}))
