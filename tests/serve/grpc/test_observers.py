"""Requests are measured, logged and traced."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import grpc
from tests.serve.grpc.server import GATED, HALF, Port, X, example, examples, until, with_port

from tfport.formats.proto import serving_api_pb2, serving_pb2
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.tracing import request_tracer
from tfport.serve.status import StatusCode


class RecordedMetrics:
    """Records what the server reports to `Metrics`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str, StatusCode]] = []
        self.counted: list[tuple[str, int]] = []
        self.ran: list[tuple[str, str]] = []
        self.coded_calls: list[tuple[str, int, str]] = []
        self.running = 0
        self.refusals: list[tuple[str, str, dict[str, str]]] = []

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        assert seconds > 0
        self.requests.append((model, api, entrypoint, code))

    def examples(self, model: str, count: int) -> None:
        self.counted.append((model, count))

    def runtime(self, model: str, api: str, seconds: float) -> None:
        self.ran.append((model, api))

    def coded(
        self, model: str, version: int, signature: str, decode_seconds: float, encode_seconds: float
    ) -> None:
        assert min(decode_seconds, encode_seconds) >= 0
        self.coded_calls.append((model, version, signature))

    def began(self, entrypoint: str) -> None:
        self.running += 1

    def ended(self, entrypoint: str) -> None:
        self.running -= 1

    def refused(self, entrypoint: str, reason: str, peer: str, **fields: str) -> None:
        assert peer.startswith("127.0.0.1:")
        self.refusals.append((entrypoint, reason, fields))


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
        await until(lambda: len(metrics.requests) == 5)

    with caplog.at_level(logging.CRITICAL):
        with_port(test, GrpcOptions(observers=Observers(metrics=metrics)))
    assert metrics.requests == [
        ("half", "Predict", "GRPC", StatusCode.OK),
        ("examples", "Classify", "GRPC", StatusCode.OK),
        ("", "Predict", "GRPC", StatusCode.NOT_FOUND),  # all unknown names are counted together
        ("buggy", "Predict", "GRPC", StatusCode.INTERNAL),
        ("gated", "Predict", "GRPC", StatusCode.CANCELLED),
    ]
    assert metrics.counted == [("examples", 2)]
    assert metrics.running == 0
    assert metrics.ran == [("half", "Predict"), ("examples", "Classify")]
    assert metrics.coded_calls == [("half", 2, "serving_default")]


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


def test_random_names_leave_room_for_those_of_models():
    metrics = Metrics(process=False)

    async def test(port: Port) -> None:
        for name in ("absent", "missing"):
            unknown = {"name": name}
            await port.refusal("Predict", {"model_spec": unknown, "inputs": X})
            await port.refusal("Regress", {"model_spec": unknown, "input": examples(example())})
            await port.refusal("MultiInference", {"tasks": [{"model_spec": unknown}]})

    with_port(test, GrpcOptions(observers=Observers(metrics=metrics)))
    text = metrics.text().decode()
    assert ':tensorflow:serving:request_count{model_name="",status="NOT_FOUND"} 6' in text
    assert "absent" not in text
