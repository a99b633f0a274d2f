"""Bearer tokens over gRPC."""

from __future__ import annotations

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.serve.grpc.server import HALF, Port, with_port

from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.status import StatusCode


class OneToken:
    def allow(self, authorization: str) -> bool:
        return authorization == "Bearer secret"


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ([("authorization", "Bearer secret")], None),
        ([("authorization", "Bearer other")], StatusCode.UNAUTHENTICATED),
        ([("authorization-bin", b"Bearer secret")], StatusCode.UNAUTHENTICATED),
        ([], StatusCode.UNAUTHENTICATED),
    ],
)
def test_only_a_token_that_counts_lets_calls_in(metadata, code):
    async def test(port: Port) -> None:
        if code is None:
            assert await port.ask("Predict", HALF, metadata=metadata)
        else:
            assert (await port.refusal("Predict", HALF, metadata=metadata))[0] is code
        stub = health_pb2_grpc.HealthStub(port.channel)
        assert await stub.Check(health_pb2.HealthCheckRequest())

    with_port(test, GrpcOptions(tokens=OneToken()))
