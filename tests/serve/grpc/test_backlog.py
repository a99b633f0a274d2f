"""Calls that gRPC's library has received and the server has not begun: thousands wait, and none is lost.

The event loop is blocked until all have arrived, so they wait in the library, as in a burst that comes faster
than Python reads.
"""

from __future__ import annotations

import asyncio

import pytest
from tests.serve.grpc.http2 import RawChannel
from tests.serve.grpc.server import GATED, HALF, Port, request_bytes, until, with_port

from tfport.formats.proto.serving_pb2 import PredictRequest
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.status import StatusCode

PREDICT = "/tensorflow.serving.PredictionService/Predict"
HALF_BYTES, GATED_BYTES = (request_bytes(PredictRequest, request) for request in (HALF, GATED))
CONNECTIONS, CALLS = 8, 500
ADMITTED = 100


def burst(port: Port, message: bytes, **headers: str) -> list[tuple[RawChannel, list[int]]]:
    """Send calls on several connections, and wait until the library has received all."""
    channels = [RawChannel(port.port) for _ in range(CONNECTIONS)]
    sent = [
        (channel, [channel.send_call(PREDICT, message, **headers) for _ in range(CALLS)])
        for channel in channels
    ]
    for channel in channels:
        channel.wait_until_received()
    return sent


async def read_ends(sent: list[tuple[RawChannel, list[int]]]) -> None:
    await asyncio.gather(*(asyncio.to_thread(channel.read_ends, len(streams)) for channel, streams in sent))


def close(sent: list[tuple[RawChannel, list[int]]]) -> None:
    for channel, _ in sent:
        channel.close()


def test_a_burst_is_answered():
    async def test(port: Port) -> None:
        sent = burst(port, HALF_BYTES)
        await read_ends(sent)
        answered = sum(channel.is_answered(stream) for channel, streams in sent for stream in streams)
        assert answered == CONNECTIONS * CALLS
        close(sent)

    with_port(test)


@pytest.mark.parametrize("how", ["rapid reset", "deadline"])
def test_calls_that_others_give_up_do_not_end_a_call(how):
    async def test(port: Port) -> None:
        sent = burst(port, HALF_BYTES, **({"grpc_timeout": "2m"} if how == "deadline" else {}))
        if how == "rapid reset":
            for channel, streams in sent:
                for stream in streams:
                    channel.cancel(stream)
                channel.wait_until_received()
        bystander = RawChannel(port.port)
        stream = bystander.send_call(PREDICT, HALF_BYTES)
        bystander.wait_until_received()
        await asyncio.to_thread(bystander.read_ends, 1)
        assert bystander.is_answered(stream)
        close([*sent, (bystander, [stream])])

    with_port(test)


def test_more_calls_than_are_admitted_are_refused_with_a_sentence():
    async def test(port: Port) -> None:
        sent = burst(port, GATED_BYTES)
        await until(lambda: port.gate.begun == ADMITTED)
        assert await port.refusal("Predict", HALF) == (
            StatusCode.RESOURCE_EXHAUSTED,
            f"Too many requests: {ADMITTED} are already in progress",
        )
        port.gate.open.set()
        await read_ends(sent)
        ends = [(channel, stream) for channel, streams in sent for stream in streams]
        assert sum(channel.is_answered(stream) for channel, stream in ends) == ADMITTED
        assert sum(channel.is_refused(stream) for channel, stream in ends) == len(ends) - ADMITTED
        close(sent)

    with_port(test, GrpcOptions(most_calls=ADMITTED))
