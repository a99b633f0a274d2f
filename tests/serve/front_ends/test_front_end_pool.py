"""A server with front ends answers as one without: the same answers, errors, health and shutdown."""

import os
import signal

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.serve.models.exports import adder, export, saved_model
from tests.serve.process import PATIENCE, PREDICT, command, predict_over, predict_request, refused, until

from tfport.formats.proto import serving_api_pb2, serving_pb2
from tfport.serve.front_ends.alike_requests import LARGE

FRONT_ENDS = ("--grpc_processes=2", "--enable_batching")
WIDE = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    two = Const() {dtype=float32, value=float32()[2]}
    y = Mul(x, two) {T=float32}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    export(folder / "m", 3, adder(3))
    export(folder / "wide", 1, saved_model(WIDE, {"serving_default": "y:0"}))
    config = folder / "models.config"
    entries = (
        f'config {{ name: "{n}" base_path: "{folder / n}" model_platform: "tensorflow" }}'
        for n in ("m", "wide")
    )
    config.write_text(f"model_config_list {{ {' '.join(entries)} }}")
    with command(f"--model_config_file={config}", *FRONT_ENDS) as running:
        yield running


def large(array, name="wide", content=True):
    request = serving_pb2.PredictRequest()
    request.model_spec.name = name
    tensor = request.inputs["x"]
    tensor.dtype = 1
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if content:
        tensor.tensor_content = array.tobytes()
    else:
        tensor.float_val.extend(array.ravel().tolist())
    return request.SerializeToString()


def ask(server, data):
    with server.channel() as channel:
        answer = channel.unary_unary(PREDICT)(data, timeout=PATIENCE)
    tensor = serving_api_pb2.PredictResponse.FromString(answer).outputs["y"]
    return np.array(tensor.float_val, np.float32).reshape([dim.size for dim in tensor.tensor_shape.dim])


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("content", [True, False])
def test_large_and_small_tensors(server, rows, content):
    for columns in (2, LARGE // 4, LARGE):
        array = np.random.default_rng(columns).random((rows, columns), np.float32)
        np.testing.assert_array_equal(ask(server, large(array, content=content)), array * 2)


def test_many_large_requests_reuse_the_memory(server):
    array = np.ones((1, 1 << 19), np.float32)
    data = large(array)
    with server.channel() as channel:
        calls = [channel.unary_unary(PREDICT).future(data, timeout=PATIENCE) for _ in range(60)]
        answers = [serving_api_pb2.PredictResponse.FromString(call.result()) for call in calls]
    assert all(set(answer.outputs["y"].float_val[:8]) == {2.0} for answer in answers)


BAD = {
    "unknown model": (large(np.ones((1, LARGE), np.float32), name="none"), "NOT_FOUND"),
    "no message": (b"\xff" * LARGE, "INVALID_ARGUMENT"),
    "wrong size": (large(np.ones((1, LARGE), np.float32))[:-4] + b"", "INVALID_ARGUMENT"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_those_of_the_server(server, case):
    data, code = BAD[case]
    with server.channel() as channel, pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(PREDICT)(data, timeout=PATIENCE)
    assert error.value.code().name == code


def test_health_and_status_are_those_of_the_server(server):
    with server.channel() as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest
        assert stub.Check(asked(service="wide"), timeout=PATIENCE).status == 1
        with pytest.raises(grpc.RpcError) as error:
            stub.Check(asked(service="none"), timeout=PATIENCE)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        assert {"", "m", "wide"} <= set(stub.List(health_pb2.HealthListRequest(), timeout=PATIENCE).statuses)


def test_a_front_end_that_dies_is_replaced(server):
    def children():
        pid = server.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return {int(child) for child in file.read().split()}

    before = children()
    os.kill(min(before), signal.SIGKILL)
    until(lambda: len(children() - before) == 1)
    until(lambda: "a front end ended with exit code -9" in server.output)

    def answers():
        with server.channel() as channel:
            try:
                return predict_over(channel, 1.0) == [4.0]
            except grpc.RpcError:
                return False

    until(answers)


def test_a_call_in_progress_is_answered_before_the_server_ends(tmp_path):
    export(tmp_path / "m", 3, adder(3))
    with command(tmp_path / "m", *FRONT_ENDS) as running:
        with running.channel() as channel:
            assert predict_over(channel, 1.0) == [4.0]
            call = channel.unary_unary(PREDICT, serving_pb2.PredictRequest.SerializeToString)
            future = call.future(predict_request(1.0), timeout=PATIENCE)
            future.result()
        assert running.end() == 0


def test_a_port_in_use_is_an_error(server, tmp_path):
    export(tmp_path / "m", 3, adder(3))
    code, output = refused(tmp_path / "m", *FRONT_ENDS, f"--port={server.grpc}", "--rest_api_port=0")
    assert code != 0
    assert f"gRPC cannot listen on 127.0.0.1:{server.grpc}: " in output
