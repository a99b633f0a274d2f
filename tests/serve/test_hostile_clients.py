"""Clients that open connections and do not use them: the others are served."""

import itertools
import resource
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2
from tests.serve.grpc.http2 import PREFACE
from tests.serve.models.exports import export
from tests.serve.process import PATIENCE, Command, command, predict_over, until

from tfport.serve.monitoring.logs import MOST

FILES, SOCKETS = 256, 400
HALF_HEADER = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nX-Half: "
HALF_BODY = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    base = tmp_path_factory.mktemp("models") / "m"
    export(base, 3)
    return base


def opened(stack: ExitStack, port: int, sent: bytes, count: int = SOCKETS) -> list[socket.socket]:
    """Open connections that send something and then nothing more."""
    sockets = []
    for _ in range(count):
        try:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            client.sendall(sent)
        except ConnectionError:  # closed by the server already
            continue
        sockets.append(client)
    return sockets


def rest_answers(server: Command) -> None:
    assert server.ask("GET", "/v1/health/live") == (200, {"status": "live"})
    assert server.ask("GET", "/v1/health/ready") == (200, {"status": "ready"})
    assert server.answers() == 3


def new_channel(server: Command) -> grpc.Channel:
    return grpc.insecure_channel(f"{server.host}:{server.grpc}", [("grpc.use_local_subchannel_pool", 1)])


def grpc_answers(channel: grpc.Channel) -> None:
    assert predict_over(channel, 0, wait_for_ready=True) == [3.0]
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    answer = check(b"", timeout=PATIENCE, wait_for_ready=True)
    assert health_pb2.HealthCheckResponse.FromString(answer).status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize(
    "sent", [b"", b"P", HALF_HEADER, HALF_BODY], ids=["nothing", "byte", "header", "body"]
)
def test_half_open_rest_connections(model, sent):
    """More connections than file descriptors; their own timeouts are far away."""
    flags = ["--header_seconds=3600", "--rest_api_timeout_in_ms=3600000"]
    with (
        command(model, *flags, files=FILES) as server,
        ExitStack() as stack,
        new_channel(server) as old,
        new_channel(server) as new,
    ):
        grpc_answers(old)
        opened(stack, server.rest, sent)
        for _ in range(3):
            rest_answers(server)
            grpc_answers(old)
        grpc_answers(new)
    assert "out of system resource" not in server.output


@pytest.mark.parametrize("sent", [b"", PREFACE[:10], PREFACE], ids=["nothing", "part", "no-settings"])
def test_half_open_grpc_connections(model, sent):
    """They are closed when their handshake takes too long; until then, open channels and REST work."""
    with (
        command(model, "--header_seconds=2", files=FILES) as server,
        ExitStack() as stack,
        new_channel(server) as old,
        new_channel(server) as new,
    ):
        grpc_answers(old)
        sockets = opened(stack, server.grpc, sent)
        rest_answers(server)
        grpc_answers(old)
        grpc_answers(new)
        for client in sockets:
            with suppress(ConnectionError):
                while client.recv(1000):  # until the server closes the connection
                    pass


def test_without_file_descriptors_it_waits_and_goes_on(model):
    with command(model) as server, ExitStack() as stack:
        pid = server.process.pid
        rest_answers(server)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = {int(file.name) for file in Path(f"/proc/{pid}/fd").iterdir()}
        first_free = next(number for number in itertools.count() if number not in used)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free, limits[1]))
        opened(stack, server.rest, HALF_HEADER, 20)
        until(lambda: "refused reason=no_file_descriptor entrypoint=REST" in server.output)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        rest_answers(server)
        assert server.end() == 0
    assert len([line for line in server.lines if "no_file_descriptor" in line]) <= MOST + 1
