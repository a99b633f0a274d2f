"""Requests over REST and the Open Inference Protocol are sampled and traced like those over gRPC."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from tests.serve.models.exports import config_text, export, model
from tests.serve.process import command, predict_over, text_file
from tests.serve.rest.server import Port, with_port

from tfport.formats.encoding.tensor import to_numpy
from tfport.formats.encoding.tfrecord import read_records
from tfport.formats.files import Folder
from tfport.formats.proto import inference_pb2, serving_api_pb2, serving_pb2
from tfport.formats.saved_model.warmup import WARMUP
from tfport.serve.rest.options import RestOptions

INFER = "/inference.GRPCInferenceService/ModelInfer"
LOGGED = """logging_config {{ sampling_config {{ sampling_rate: 1 }}
    log_collector_config {{ type: "tfrecord" filename_prefix: "{}" }} }}"""


def infer(x: float) -> inference_pb2.ModelInferRequest:
    request = inference_pb2.ModelInferRequest(model_name="m")
    tensor = request.inputs.add(name="x", datatype="FP32", shape=[1])
    tensor.contents.fp32_contents.append(x)
    return request


def test_a_real_server_logs_requests_of_every_protocol_and_they_warm_a_model_up(tmp_path):
    export(tmp_path / "m", 3)
    config = config_text(model("m", tmp_path / "m", LOGGED.format(tmp_path / "log" / "m")))
    file = text_file(tmp_path / "models.config", config)
    tensor = {"name": "x", "shape": [1], "datatype": "FP32", "data": [2]}
    with command(f"--model_config_file={file}") as server:
        assert server.predict(1)[1] == {"predictions": [4.0]}
        assert server.ask("POST", "/v2/models/m/infer", {"inputs": [tensor]})[0] == 200
        with server.channel() as channel:
            channel.unary_unary(INFER)(infer(3).SerializeToString(), timeout=60)
            assert predict_over(channel, 4) == [7.0]
        assert server.predict("text")[0] == 400  # what fails is not logged, as over gRPC
        assert server.end() == 0
    (path,) = (tmp_path / "log").iterdir()
    records = [bytes(record) for record in read_records(Folder(path.parent), path.name)]
    logs = [serving_pb2.PredictionLog.FromString(record).predict_log.request for record in records]
    assert [to_numpy(request.inputs["x"]).tolist() for request in logs] == [[1.0], [2.0], [3.0], [4.0]]
    assert {request.model_spec.name for request in logs} == {"m"}
    again = tmp_path / "again"
    (export(again, 1, warm_up=b"") / WARMUP).write_bytes(path.read_bytes())
    with command(again, "--model_name=m", "--log_level=info") as server:
        assert server.answers() == 1


class Kept(list):
    """Records what the server adds to a `RequestLog`."""

    def logs(self, model: str) -> bool:
        return model != "pairs"

    should_log = logs

    def add(self, model: str, kind: str, request, response) -> bool:
        self.append((model, kind, request, response))
        return True


@pytest.mark.parametrize(
    ("verb", "signature", "response", "count"),
    [
        (
            "classify",
            "classes",
            serving_api_pb2.ClassificationResponse,
            lambda r: len(r.result.classifications),
        ),
        (
            "regress",
            "serving_default",
            serving_api_pb2.RegressionResponse,
            lambda r: len(r.result.regressions),
        ),
    ],
)
def test_examples_are_logged(verb, signature, response, count):
    kept = Kept()

    async def test(port: Port) -> None:
        body = {"signature_name": signature, "examples": [{"x": 1.0}, {"x": 2.0}]}
        assert (await port.ask("POST", f"/v1/models/examples:{verb}", body))[0] == 200

    with_port(test, RestOptions(port=0, request_log=kept))
    ((name, kind, request, answer),) = kept
    assert (name, kind, count(answer), type(answer)) == ("examples", verb, 2, response)
    examples = request.input.example_list.examples
    assert [example.features.feature["x"].float_list.value[0] for example in examples] == [1.0, 2.0]


class Spans(list):
    """Records spans instead of a `RequestTracer`."""

    @contextmanager
    def request(self, api: str, model: str, headers: Mapping[str, str], **attributes) -> Iterator[None]:
        try:
            yield
        finally:
            self.append((api, model, headers.get("traceparent"), attributes["network.protocol.name"]))


def test_requests_over_rest_are_spans():
    spans = Spans()

    async def test(port: Port) -> None:
        for name in ("half", "half", "nobody"):
            headers = {"TraceParent": "00-1"}
            await port.ask("POST", f"/v1/models/{name}:predict", {"instances": [1]}, headers=headers)

    with_port(test, RestOptions(port=0, tracer=spans))
    assert spans == [("predict", name, "00-1", "http") for name in ("half", "half", "nobody")]
