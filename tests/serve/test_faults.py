"""Faults around a running server: models, clients, the machine. No accepted request is lost."""

import asyncio
import http.client
import json
import re
import shutil
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from tests.serve.models.exports import config_text, export, model
from tests.serve.process import PATIENCE, Command, command, predict_over, slow, text_file, until

CONNECTIONS = 1000
MANY = json.dumps({"instances": [0.0] * 2000}).encode()
"""A request that takes the slow model a while."""
MONITORING = 'prometheus_config { enable: true path: "/metrics" }'
HEAD = "POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: "


def running_calls(server: Command) -> bool:
    """Whether the slow model has started to compute."""
    page = server.ask("GET", "/metrics")[1]
    return 'tfport_queue_depth{model_name="slow",version="1"} 1' in page


def connected(server: Command) -> socket.socket:
    return socket.create_connection((server.host, server.rest), PATIENCE)


# -- shutdown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("by", "seconds"), [(signal.SIGTERM, 30), (signal.SIGINT, 30), (signal.SIGTERM, 0)])
def test_it_drains_what_has_begun_and_ends(tmp_path, by, seconds):
    export(tmp_path / "slow", 1, slow())
    file = text_file(tmp_path / "monitoring.txt", MONITORING)
    flags = [f"--monitoring_config_file={file}", f"--drain_seconds={seconds}"]
    with command(tmp_path / "slow", *flags) as server, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.ask, "POST", "/v1/models/slow:predict", MANY)
        until(lambda: asked.done() or running_calls(server))
        assert server.end(by) == 0
        if seconds:
            assert asked.result()[0] == 200
        elif asked.exception() is not None:  # cut off, unless a fast machine answered before
            assert isinstance(asked.exception(), ConnectionError)
    assert "INFO draining" in server.output


def test_it_answers_the_grpc_calls_that_have_begun(tmp_path):
    export(tmp_path / "slow", 1, slow())
    file = text_file(tmp_path / "monitoring.txt", MONITORING)
    with (
        command(tmp_path / "slow", f"--monitoring_config_file={file}") as server,
        ThreadPoolExecutor(8) as pool,
        server.channel() as channel,
    ):
        calls = [pool.submit(predict_over, channel, *[0.0] * 1000, name="slow") for _ in range(8)]

        def begun() -> int:
            done = sum(call.done() for call in calls)  # counted first: a call that ends now is counted once
            page = server.ask("GET", "/metrics")[1]
            running = re.search(r'tfport_requests_in_flight{entrypoint="GRPC"} (\d+)', page)
            return done + (int(running[1]) if running else 0)

        until(lambda: begun() == 8)
        assert server.end() == 0
        assert [len(call.result()) for call in calls] == [1000] * 8


def test_a_second_signal_ends_it_at_once(tmp_path):
    export(tmp_path / "slow", 1, slow())
    file = text_file(tmp_path / "monitoring.txt", MONITORING)
    body = json.dumps({"instances": [0.0] * 4000}).encode()
    with (
        command(tmp_path / "slow", f"--monitoring_config_file={file}") as server,
        ThreadPoolExecutor(1) as pool,
    ):
        asked = pool.submit(server.ask, "POST", "/v1/models/slow:predict", body)
        until(lambda: asked.done() or running_calls(server))
        server.process.send_signal(signal.SIGINT)
        until(lambda: "INFO draining" in server.output)
        assert server.end(signal.SIGINT) == 0
        assert asked.exception() is None or isinstance(asked.exception(), ConnectionError)


def test_killed_and_started_again_at_the_same_ports(tmp_path):
    export(tmp_path / "m", 1)
    with command(tmp_path / "m") as server:
        keeps = connected(server)  # a connection that is open when the server is killed
        assert server.answers() == 1
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        keeps.close()
    ports = (f"--port={server.grpc}", f"--rest_api_port={server.rest}")
    with command(tmp_path / "m", ports=ports) as again, again.channel() as channel:
        assert again.answers() == 1
        assert predict_over(channel, 0) == [1.0]


# -- models ------------------------------------------------------------------------------------------


class Load:
    """Clients that send requests continuously and keep every answer."""

    def __init__(self, server: Command) -> None:
        self.server, self.over = server, threading.Event()
        self.pool = ThreadPoolExecutor(4)
        self.clients = [self.pool.submit(client) for client in (self.rest, self.grpc) * 2]

    def rest(self) -> set[float]:
        answers = set()
        client = http.client.HTTPConnection(self.server.host, self.server.rest, timeout=PATIENCE)
        while not self.over.is_set():
            client.request("POST", "/v1/models/m:predict", b'{"instances": [0]}')
            answer = client.getresponse()
            body = json.loads(answer.read())
            assert answer.status == 200, body
            answers.add(body["predictions"][0])
        client.close()
        return answers

    def grpc(self) -> set[float]:
        answers = set()
        with self.server.channel() as channel:
            while not self.over.is_set():
                answers.update(predict_over(channel, 0))
        return answers

    def end(self) -> set[float]:
        self.over.set()
        self.pool.shutdown()
        return set().union(*(client.result() for client in self.clients))


def test_versions_come_and_go_under_load(tmp_path):
    base = tmp_path / "m"
    export(base, 1)
    with command(base) as server:
        load = Load(server)
        export(base, 2)
        until(lambda: server.answers() == 2)
        export(base, 3, b"corrupt")  # the old version stays
        until(lambda: 3 in server.statuses() and server.statuses()[3][1])
        assert server.answers() == 2
        export(base, 4)
        until(lambda: server.answers() == 4)
        for number in (3, 4):  # removed while being served
            shutil.rmtree(base / str(number))
        until(lambda: server.answers() == 2)
        base.rename(tmp_path / "gone")  # loaded versions are still served
        until(lambda: "no such file" in server.output)
        assert server.answers() == 2
        export(tmp_path / "gone", 5)
        (tmp_path / "gone").rename(base)
        until(lambda: server.answers() == 5)
        assert load.end() == {1.0, 2.0, 4.0, 5.0}
        assert server.end() == 0
    assert "INFO unloaded model=m version=4" in server.output


def test_a_configuration_half_written_changes_nothing(tmp_path):
    for name in "ab":
        export(tmp_path / name, 1)
    whole = config_text(model("a", tmp_path / "a"), model("b", tmp_path / "b"))
    file = text_file(tmp_path / "models.config", config_text(model("a", tmp_path / "a")))
    with command(f"--model_config_file={file}", "--model_config_file_poll_wait_seconds=1") as server:
        assert (server.answers("a"), server.answers("b")) == (1, None)
        file.write_text(whole[: len(whole) // 2])
        until(lambda: "keeping the current configuration" in server.output)
        assert (server.answers("a"), server.answers("b")) == (1, None)
        text_file(file, whole)
        until(lambda: server.answers("b") == 1)
        assert server.answers("a") == 1


# -- clients -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("models") / "m"
    export(base, 3)
    # on a busy machine, clients may take longer to open a thousand connections than they may be silent
    with command(base, "--rest_api_max_body_bytes=10000", "--header_seconds=3600") as running:
        yield running
        assert running.end() == 0


@pytest.fixture
def still_well(server):
    """After any behavior of a client, the next one is answered."""
    yield
    assert server.answers() == 3


@pytest.mark.usefixtures("still_well")
def test_a_thousand_connections_at_once(server):
    body = b'{"instances": [%d]}'

    async def ask(number: int, all_open: asyncio.Barrier) -> bytes:
        reader, writer = await asyncio.open_connection(server.host, server.rest)
        await all_open.wait()
        sent = body % number
        writer.write(f"{HEAD}{len(sent)}\r\nConnection: close\r\n\r\n".encode() + sent)
        answer = await reader.read()
        writer.close()
        return answer

    async def all_of_them() -> list[bytes]:
        all_open = asyncio.Barrier(CONNECTIONS)
        return await asyncio.gather(*(ask(number, all_open) for number in range(CONNECTIONS)))

    for number, answer in enumerate(asyncio.run(all_of_them())):
        head, _, text = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert json.loads(text) == {"predictions": [number + 3.0]}


@pytest.mark.usefixtures("still_well")
def test_a_body_too_large(server):
    status, body = server.ask("POST", "/v1/models/m:predict", b" " * 20_000)
    assert (status, body) == (413, {"error": "The body is larger than 10000 bytes"})
    with connected(server) as client:  # announced in advance, and rejected before it is sent
        client.sendall(f"{HEAD}999999999999\r\n\r\n".encode())
        assert client.recv(64).startswith(b"HTTP/1.1 413 ")


@pytest.mark.usefixtures("still_well")
@pytest.mark.parametrize(
    "sent", [b"", b"POST /v1/mod", f"{HEAD}100\r\n\r\n{{".encode(), b"\x16\x03\x01\0\xff"]
)
def test_clients_that_leave_in_the_middle(server, sent):
    for _ in range(20):
        with connected(server) as client:
            client.sendall(sent)


@pytest.mark.usefixtures("still_well")
def test_calls_that_are_given_up(server):
    with server.channel() as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        for _ in range(20):
            call.future(b"").cancel()
        with pytest.raises(grpc.RpcError) as caught:
            call(b"\xff\xff", timeout=PATIENCE)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_body_that_does_not_come(tmp_path):
    export(tmp_path / "m", 3)
    with command(
        tmp_path / "m", "--rest_api_timeout_in_ms=300", "--port=0", ports=("--rest_api_port=-1",)
    ) as server:
        with connected(server) as client:
            client.sendall(f"{HEAD}100\r\n\r\n{{".encode())
            assert client.recv(64).startswith(b"HTTP/1.1 408 ")
        assert server.end() == 0
