"""The server: limits, deadlines, clients that disconnect, stopping, TLS, tokens, a Unix socket."""

from __future__ import annotations

import asyncio
import logging
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.serve.grpc.server import Port, example, examples, serving, tensor, with_port

from tfport.errors import Error
from tfport.formats.proto import serving_api_pb2, serving_pb2
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.options import GrpcOptions, channel_arguments
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.grpc.tls import Tls, read_ssl_config
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.tracing import request_tracer
from tfport.serve.status import StatusCode

X = {"x": tensor("float32", [2.0])}
HALF = {"model_spec": {"name": "half"}, "inputs": X}
GATED = {"model_spec": {"name": "gated"}, "inputs": X}


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
        await _until(lambda: port.gate.cancelled == 1)
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
        await _until(lambda: port.gate.cancelled == 1)
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


class RecordedMetrics:
    """Records what the server reports to `Metrics`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str, StatusCode]] = []
        self.counted: list[tuple[str, int]] = []
        self.ran: list[tuple[str, str]] = []
        self.stages: list[tuple[str, int, str, str]] = []
        self.running = 0

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        assert seconds > 0
        self.requests.append((model, api, entrypoint, code))

    def examples(self, model: str, count: int) -> None:
        self.counted.append((model, count))

    def runtime(self, model: str, api: str, seconds: float) -> None:
        self.ran.append((model, api))

    def stage(self, model: str, version: int, signature: str, stage: str, seconds: float) -> None:
        self.stages.append((model, version, signature, stage))

    def began(self, entrypoint: str) -> None:
        self.running += 1

    def ended(self, entrypoint: str) -> None:
        self.running -= 1


def test_requests_are_reported_to_the_metrics(caplog):
    metrics = RecordedMetrics()

    async def test(port: Port) -> None:
        await port.ask("Predict", HALF)
        await port.ask(
            "Classify", {"model_spec": {"name": "examples"}, "input": examples(example(), example())}
        )
        await port.refusal("Predict", {"model_spec": {"name": "x"}})
        await port.refusal("Predict", {"model_spec": {"name": "buggy"}, "inputs": X})
        await port.refusal("Predict", GATED, timeout=0.2)
        await _until(lambda: len(metrics.requests) == 5)

    with caplog.at_level(logging.CRITICAL):
        with_port(test, GrpcOptions(observers=Observers(metrics=metrics)))
    assert metrics.requests == [
        ("half", "Predict", "GRPC", StatusCode.OK),
        ("examples", "Classify", "GRPC", StatusCode.OK),
        ("x", "Predict", "GRPC", StatusCode.NOT_FOUND),
        ("buggy", "Predict", "GRPC", StatusCode.INTERNAL),
        ("gated", "Predict", "GRPC", StatusCode.CANCELLED),
    ]
    assert metrics.counted == [("examples", 2)]
    assert metrics.running == 0
    assert metrics.ran == [("half", "Predict"), ("examples", "Classify")]
    assert metrics.stages == [("half", 2, "serving_default", stage) for stage in ("decode", "encode")]


def test_what_monitoring_has_fits():
    metrics = Metrics(process=False)
    log = RequestLog(metrics)

    async def test(port: Port) -> None:
        await port.ask("Predict", HALF)

    observers = Observers(metrics, log, request_tracer(enabled=False))
    with_port(test, GrpcOptions(observers=observers))
    assert b':tensorflow:serving:request_count{model_name="half",status="OK"} 1' in metrics.text()


class Kept(list):
    """Records what the server adds to a `RequestLog`."""

    def should_log(self, model: str) -> bool:
        return model == "half"

    def add(self, model: str, kind: str, request: bytes, response: bytes) -> bool:
        self.append((model, kind, request, response))
        return True


class Spans(list):
    """Records spans instead of a `RequestTracer`."""

    @contextmanager
    def request(self, api: str, model: str, headers: Mapping[str, str]) -> Iterator[None]:
        self.append((api, model, headers["traceparent"]))
        yield


def test_requests_are_sampled_and_traced():
    kept, spans = Kept(), Spans()

    async def test(port: Port) -> None:
        for model in ("half", "x"):
            try:
                request = {"model_spec": {"name": model}, "inputs": X}
                await port.ask("Predict", request, metadata=[("traceparent", "00-1"), ("a-bin", b"1")])
            except grpc.aio.AioRpcError:
                continue

    with_port(test, GrpcOptions(observers=Observers(request_log=kept, tracer=spans)))
    ((model, kind, request, response),) = kept
    assert (model, kind) == ("half", "predict")
    assert serving_pb2.PredictRequest.FromString(request).inputs["x"] == X["x"]
    assert serving_api_pb2.PredictResponse.FromString(response).outputs["y"].float_val == [3.0]
    assert spans == [("Predict", "half", "00-1"), ("Predict", "x", "00-1")]


def test_a_port_that_is_taken_is_an_error():
    async def test(port: Port) -> None:
        front = GrpcServer(ModelCatalog(), reload=_never, options=GrpcOptions(port=port.port))
        with pytest.raises(Error, match=f"gRPC cannot listen on 127.0.0.1:{port.port}"):
            await front.start()

    with_port(test)


def test_a_front_without_any_address_is_an_error():
    with pytest.raises(Error, match="needs a port or a socket path"):
        asyncio.run(GrpcServer(ModelCatalog(), reload=_never, options=GrpcOptions(port=None)).start())


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


@pytest.fixture(scope="module")
def pems(tmp_path_factory) -> dict[str, bytes]:
    """An authority, and certificates for a server and a client that it signed."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl")
    folder: Path = tmp_path_factory.mktemp("pems")
    new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    commands = [f"req -x509 {new} -keyout ca.key -out ca.pem -subj /CN=authority"]
    for who in ("server", "client"):
        commands += [
            f"req {new} -keyout {who}.key -out {who}.csr -subj /CN={who}",
            f"x509 -req -in {who}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names "
            f"-out {who}.pem",
        ]
    for command in commands:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ssl_config(pems: dict[str, bytes], *, verify: bool) -> Tls:
    quoted = {
        "server_key": pems["server.key"],
        "server_cert": pems["server.pem"],
        "custom_ca": pems["ca.pem"],
    }
    lines = [f'{name}: "{pem.decode()}"'.replace("\n", "\\n") for name, pem in quoted.items()]
    return read_ssl_config("\n".join([*lines, f"client_verify: {verify}".lower()]).encode(), "ssl.cfg")


@pytest.mark.parametrize(
    ("verify", "shows", "answered"),
    [(False, False, True), (True, True, True), (True, False, False)],
    ids=["tls", "mutual", "mutual without a certificate"],
)
def test_tls(pems, verify, shows, answered):
    async def test() -> None:
        async with serving(GrpcOptions(tls=ssl_config(pems, verify=verify))) as port:
            pair = (pems["client.key"], pems["client.pem"]) if shows else (None, None)
            trusted = grpc.ssl_channel_credentials(pems["ca.pem"], *pair)
            async with grpc.aio.secure_channel(f"127.0.0.1:{port.port}", trusted) as channel:
                if answered:
                    assert await port.ask("Predict", HALF, channel=channel)
                else:
                    code, _ = await port.refusal("Predict", HALF, channel=channel)
                    assert code is StatusCode.UNAVAILABLE

    asyncio.run(test())


BAD_TLS = [
    (Tls(b"", b""), "TLS needs a server certificate and a server key"),
    (Tls(b"x", b"y", verify=True), "no certificate authority for clients is configured"),
    (Tls(b"x", b"y"), "gRPC cannot listen on 127.0.0.1:0 with this certificate and key"),
]


@pytest.mark.parametrize(("tls", "message"), BAD_TLS, ids=["empty", "authority", "garbage"])
def test_certificates_that_are_none_are_an_error(tls, message):
    front = GrpcServer(ModelCatalog(), reload=_never, options=GrpcOptions(port=0, tls=tls))
    with pytest.raises(Error, match=message):
        asyncio.run(front.start())


def test_a_key_is_not_shown():
    assert "secret" not in repr(Tls(b"certificate", b"secret"))


async def _never(config: object) -> None:
    raise AssertionError


async def _until(holds) -> None:
    while not holds():
        await asyncio.sleep(0.005)
