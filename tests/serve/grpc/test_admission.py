"""Stopping: calls that were received are answered, later ones are refused with UNAVAILABLE."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.serve.grpc.http2 import RawChannel
from tests.serve.grpc.server import GATED, HALF, Port, request_bytes, until, with_port

from tfport.formats.proto.serving_pb2 import PredictRequest
from tfport.serve.grpc import admission, listener
from tfport.serve.grpc.listener import LONGEST_WAIT
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.status import StatusCode

PREDICT = "/tensorflow.serving.PredictionService/Predict"
HALF_BYTES = request_bytes(PredictRequest, HALF)
CALLS = 32


@pytest.mark.parametrize("connections", [1, 8])
def test_calls_that_the_library_has_received_are_answered(connections):
    """The event loop is blocked until all have arrived, so Python has seen none when the server stops."""

    async def test(port: Port) -> None:
        channels = [RawChannel(port.port) for _ in range(connections)]
        calls = [
            (channel, channel.send_call(PREDICT, HALF_BYTES))
            for channel in channels
            for _ in range(CALLS // connections)
        ]
        for channel in channels:
            channel.wait_until_received()
        await port.front.stop(30)
        for channel in channels:
            channel.read_all()
        assert [channel.is_answered(stream) for channel, stream in calls] == [True] * CALLS
        for channel in channels:
            channel.close()

    with_port(test)


async def code_of(port: Port, request: object) -> StatusCode:
    try:
        await port.ask("Predict", request)
    except grpc.aio.AioRpcError as error:
        return StatusCode[error.code().name]
    return StatusCode.OK


@pytest.mark.parametrize("where", ["port", "socket"])
def test_later_calls_are_refused_while_earlier_ones_are_answered(where, tmp_path):
    async def test(port: Port) -> None:
        call = asyncio.ensure_future(port.ask("Predict", GATED))
        await port.gate.waiting.wait()
        stop = asyncio.ensure_future(port.front.stop(60))
        while (code := await code_of(port, HALF)) is StatusCode.OK:  # sent before all clients were quiet
            pass
        assert code is StatusCode.UNAVAILABLE
        health = await health_pb2_grpc.HealthStub(port.channel).Check(health_pb2.HealthCheckRequest())
        assert health.status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert not stop.done()
        port.gate.open.set()
        assert await call
        await stop
        assert await code_of(port, HALF) is StatusCode.UNAVAILABLE

    path = tmp_path / "socket"
    with_port(test, GrpcOptions(port=None, socket_path=str(path)) if where == "socket" else None)


def test_late_calls_are_refused_with_a_sentence():
    """They are in the library when the last call ends."""

    async def test(port: Port) -> None:
        call = asyncio.ensure_future(port.ask("Predict", GATED))
        await port.gate.waiting.wait()
        stop = asyncio.ensure_future(port.front.stop(60))
        while await code_of(port, HALF) is StatusCode.OK:
            pass
        assert await port.refusal("Predict", HALF) == (StatusCode.UNAVAILABLE, "the server is stopping")
        channel = RawChannel(port.port)
        late = [channel.send_call(PREDICT, HALF_BYTES) for _ in range(CALLS)]
        channel.wait_until_received()
        port.gate.open.set()
        assert await call
        await stop
        channel.read_all()
        assert [channel.is_refused(stream) for stream in late] == [True] * CALLS
        channel.close()

    with_port(test)


def test_late_calls_are_refused_when_the_connection_closes(monkeypatch):
    """A client that calls again whenever it is refused would lose the last of its calls otherwise."""
    channels: list[RawChannel] = []
    calls: list[int] = []
    corked: list[bool] = []

    async def quiet_after_a_call(*_: object) -> bool:
        waits.append(0)
        if len(waits) != 2:  # the second time is that for late calls
            return True
        for channel in channels:
            calls.append(channel.send_call(PREDICT, HALF_BYTES))
            channel.wait_until_received()
        await asyncio.sleep(0.05)  # in which they would be refused
        for channel, call in zip(channels, calls, strict=True):
            channel.wait_until_received()
            assert not channel.frames[call]
        return True

    def noting(own: socket.socket) -> None:
        corked.append(bool(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_CORK)))
        shut_down(own)

    shut_down, waits = listener._shut_down, []
    monkeypatch.setattr(admission, "until_quiet", quiet_after_a_call)
    monkeypatch.setattr(listener, "_shut_down", noting)

    async def test(port: Port) -> None:
        channels.extend(RawChannel(port.port) for _ in range(2))
        call = asyncio.ensure_future(port.ask("Predict", GATED))
        await port.gate.waiting.wait()
        stop = asyncio.ensure_future(port.front.stop(60))
        await asyncio.sleep(0)
        port.gate.open.set()
        assert await call
        await stop
        for channel, call in zip(channels, calls, strict=True):
            channel.read_all()
            assert channel.is_refused(call)
            channel.close()
        assert corked[:4] == [False, True, True, True]  # the listening socket, and three connections

    with_port(test)


def test_calls_that_a_busy_machine_has_not_read_yet_are_refused(monkeypatch):
    """No call has begun for a while, but the bytes of one are there: gRPC's threads had no processor."""
    calls: list[int] = []

    async def quiet(*args: object) -> bool:
        if calls:
            return await until_quiet(*args)
        calls.append(channel.send_call(PREDICT, HALF_BYTES))
        return True

    channel: RawChannel
    until_quiet = admission.until_quiet
    monkeypatch.setattr(admission, "until_quiet", quiet)

    async def test(port: Port) -> None:
        nonlocal channel
        channel = RawChannel(port.port)
        channel.wait_until_received()
        await port.front.stop(60)
        channel.read_all()
        assert channel.is_refused(calls[0])
        channel.close()

    with_port(test)


def test_looking_for_sockets_keeps_no_others_open():
    """Large bodies are read by processes that end when the server closes the connection to them."""
    listening = socket.create_server(("127.0.0.1", 0))
    ours, theirs = socket.socketpair()
    theirs.settimeout(60)
    with listening, theirs, ExitStack() as opened:
        found = listener._sockets_at(listening.getsockname()[1], "", opened)
        ours.close()
        assert {own.getsockname() for own in found} == {listening.getsockname()}
        assert theirs.recv(1) == b""


def test_calls_that_last_too_long_are_cut_off_as_unavailable():
    async def test(port: Port) -> None:
        call = asyncio.ensure_future(port.refusal("Predict", GATED))
        await port.gate.waiting.wait()
        await port.front.stop(0)
        assert await call == (StatusCode.UNAVAILABLE, "the server has stopped before the call ended")
        await until(lambda: port.gate.cancelled == 1)

    with_port(test)


def test_a_client_that_left_is_not_waited_for():
    async def test(port: Port) -> None:
        channel = RawChannel(port.port)
        channel.send_headers(PREDICT)  # its message never comes
        channel.wait_until_received()
        await until(lambda: port.front.calls_in_progress == 1)
        channel.close()
        await until(lambda: port.front.calls_in_progress == 0)
        async with asyncio.timeout(60):
            await port.front.stop(600)
        assert not port.gate.cancelled

    with_port(test)


def test_a_client_that_watches_is_not_waited_for():
    async def test(port: Port) -> None:
        watch = health_pb2_grpc.HealthStub(port.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        async with asyncio.timeout(60):
            await port.front.stop(600)

    with_port(test)


@pytest.mark.parametrize(("seconds", "answered"), [(1, False), (LONGEST_WAIT, True)])
def test_calls_that_wait_long_for_a_busy_server_are_answered(seconds, answered):
    """The event loop is blocked after they have arrived; gRPC's own limit of 30 seconds would cancel them."""
    limit = {"grpc.server_max_unrequested_time_in_server": seconds}

    async def test(port: Port) -> None:
        channel = RawChannel(port.port)
        calls = [channel.send_call(PREDICT, HALF_BYTES) for _ in range(CALLS)]
        channel.wait_until_received()
        time.sleep(1.5)
        await port.front.stop(30)
        channel.read_all()
        assert all(channel.is_answered(call) for call in calls) is answered
        channel.close()

    with_port(test, GrpcOptions(port=0, channel_arguments={} if answered else limit))


@pytest.mark.parametrize("seconds", [0, 3600])
def test_clients_that_do_not_read_their_answers_make_room_for_others(monkeypatch, seconds):
    """Their flow control window is never opened, so the answers cannot be sent."""
    monkeypatch.setattr(admission, "UNREAD_SECONDS", seconds)

    async def test(port: Port) -> None:
        channel = RawChannel(port.port, window=0)
        for _ in range(4):
            channel.send_call(PREDICT, HALF_BYTES)
        channel.wait_until_received()
        await until(lambda: port.front.calls_in_progress == 4)
        codes = [await code_of(port, HALF)]
        while codes[-1] is not StatusCode.OK and len(codes) < (20 if seconds else 2_000):
            await asyncio.sleep(0.02)  # until their answers are there
            codes.append(await code_of(port, HALF))
        assert codes[-1] is (StatusCode.RESOURCE_EXHAUSTED if seconds else StatusCode.OK)
        assert port.front.calls_in_progress <= 4
        channel.close()
        await until(lambda: not port.front.calls_in_progress)

    with_port(test, GrpcOptions(port=0, most_calls=4))
