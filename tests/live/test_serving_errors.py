"""Errors, deadlines and cancelled calls with the stubs of `tensorflow-serving-api`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import grpc
import numpy as np
import pytest

pytest.importorskip("grpc_health", reason="pip install tfport[serve]")
from tfport.serve.servable import Servable

pytest.importorskip("tensorflow_serving.apis", reason="pip install tensorflow-serving-api")
from tests.live.serving_server import LIMIT, Server, predict, refused, save_models, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with serving(save_models(tmp_path_factory.mktemp("models"))) as running:
        yield running


X = np.zeros((1, 3), np.float32)
REFUSED = [
    (predict("none"), "NOT_FOUND", "Servable not found for request: Latest(none)"),
    (predict("linear", "x"), "FAILED_PRECONDITION", 'Serving signature key "x" not found.'),
    (
        predict("linear"),
        "INVALID_ARGUMENT",
        "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. "
        "Missing but required: {x}.",
    ),
    (
        predict("linear", x=X.astype(np.float64)),
        "INVALID_ARGUMENT",
        "Expects arg[0] to be float but double is provided",
    ),
]


@pytest.mark.parametrize(("request_", "code", "message"), REFUSED)
def test_errors_have_their_code_and_message(server, request_, code, message):
    assert refused(server.predictions.Predict, request_) == (grpc.StatusCode[code], message)


def test_a_wrong_shape_is_the_client_s_fault(server):
    code, message = refused(server.predictions.Predict, predict("linear", x=X[:, :2]))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "MatMul" in message


def test_many_calls_at_a_time(server):
    requests = [predict("linear", x=np.full((1, 3), n, np.float32)) for n in range(64)]
    calls = [server.predictions.Predict.future(request, 30) for request in requests]
    for n, call in enumerate(calls):
        np.testing.assert_allclose(call.result().outputs["product"].float_val, [4.5 * n, 2.25 * n], rtol=1e-6)


def test_too_large_a_request(server):
    big = np.zeros((LIMIT // 8, 3), np.float32)
    code, _ = refused(server.predictions.Predict, predict("linear", x=big))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_call_that_exceeds_its_deadline_is_cancelled(server):
    code, _ = refused(server.predictions.Predict, predict("stuck", x=X), 0.5)
    assert code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert comes_to_rest(server.catalog.get("stuck"))


def test_a_call_that_its_client_cancels_is_stopped(server):
    stuck = server.catalog.get("stuck")
    calls = [server.predictions.Predict.future(predict("stuck", x=X)) for _ in range(20)]
    assert within_seconds(lambda: stuck.running == len(calls))
    for call in calls:
        call.cancel()
    assert comes_to_rest(stuck)
    assert server.predictions.Predict(predict("linear", x=X), 10).outputs


def comes_to_rest(servable: Servable) -> bool:
    return within_seconds(lambda: not servable.running)


def within_seconds(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
