"""Status and metadata requests over a real port."""

import pytest
from tests.serve.rest.server import Port, with_port

AVAILABLE = {"state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
ONE, TWO = {"version": "1"} | AVAILABLE, {"version": "2"} | AVAILABLE
FAILED = {
    "version": "3",
    "state": "END",
    "status": {"error_code": "UNKNOWN", "error_message": "the file is cut off"},
}
X = {
    "name": "x:0",
    "dtype": "DT_FLOAT",
    "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
}
MALFORMED = "Malformed request: "

LOOKS = [  # method and path, status, answer
    ("GET /v1/models/half", 200, {"model_version_status": [TWO, ONE]}),
    ("GET /V1/Models/half", 200, {"model_version_status": [TWO, ONE]}),
    ("GET /v1/models/half?trace=1", 200, {"model_version_status": [TWO, ONE]}),
    ("GET /v1/models/half/versions/1", 200, {"model_version_status": [ONE]}),
    ("GET /v1/models/half/labels/stable", 200, {"model_version_status": [ONE]}),
    ("GET /v1/models/broken", 200, {"model_version_status": [FAILED]}),
    ("GET /v1/models/absent", 404, "Could not find any versions of model absent"),
    ("GET /v1/models/a%20b", 404, "Could not find any versions of model a b"),
    ("GET /v1/models/half/versions/9", 404, "Could not find version 9 of model half"),
    ("GET /v1/models/half/labels/new", 400, "Unrecognized servable version label: new"),
    ("GET /v1/models/absent/metadata", 404, "Servable not found for request: Latest(absent)"),
    ("GET /v1/foo", 400, MALFORMED + "GET /v1/foo"),
    ("POST /v1/foo", 400, MALFORMED + "POST /v1/foo"),
    ("POST /v1/models", 400, MALFORMED + "POST /v1/models"),
    ("GET /v1/models/half:predict", 400, MALFORMED + "GET /v1/models/half:predict"),
    ("GET /v1/models/half/other", 400, MALFORMED + "GET /v1/models/half/other"),
    ("POST /v1/models/half/metadata", 400, MALFORMED + "POST /v1/models/half/metadata"),
    ("POST /v1/models/half:Predict", 400, MALFORMED + "POST /v1/models/half:Predict"),
    ("POST /v1/models/half/version/1:predict", 400, MALFORMED + "POST /v1/models/half/version/1:predict"),
    ("POST /v1/models/half/versions/x:predict", 400, MALFORMED + "POST /v1/models/half/versions/x:predict"),
    ("PUT /v1/models/half", 400, MALFORMED + "PUT /v1/models/half"),
    ("DELETE /v1/models/half", 400, MALFORMED + "DELETE /v1/models/half"),
    (
        f"POST /v1/models/half/versions/{2**64 - 1}:regress",
        400,
        f"Failed to convert version: {2**64 - 1} to numeric.",
    ),
    ("GET /v1/health/live", 200, {"status": "live"}),
    ("GET /v1/health/ready", 200, {"status": "ready"}),
]


def test_states_and_wrong_paths():
    async def check(port: Port) -> None:
        for line, status, answer in LOOKS:
            method, path = line.split(" ")
            expected = {"error": answer} if isinstance(answer, str) else answer
            assert await port.ask(method, path) == (status, expected), line

    with_port(check)


def test_metadata_is_the_signatures_as_protobuf_prints_them():
    async def check(port: Port) -> None:
        status, body = await port.ask("GET", "/v1/models/half/versions/1/metadata")
        assert (status, body["model_spec"]) == (200, {"name": "half", "signature_name": "", "version": "1"})
        signature = body["metadata"]["signature_def"]["signature_def"]["serving_default"]
        assert signature["inputs"] == {"x": X}
        assert signature["method_name"] == "tensorflow/serving/predict"
        assert set(signature["outputs"]) == {"y"}
        assert await port.ask("GET", "/v1/models/half/labels/stable/metadata") == (200, body)

    with_port(check)


STATUS = """{
 "model_version_status": [
  {
   "version": "1",
   "state": "AVAILABLE",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  }
 ]
}
"""


def test_status_and_metadata_have_the_lines_and_spaces_of_tensorflow_serving():
    async def check(port: Port) -> None:
        async with port.client.get("/v1/models/half/versions/1") as response:
            assert await response.text() == STATUS
        async with port.client.get("/v1/models/half/versions/1/metadata") as response:
            text = await response.text()
        begin = '{\n"model_spec":{\n "name": "half",\n "signature_name": "",\n "version": "1"\n}\n,\n'
        assert text.startswith(begin + '"metadata": {"signature_def": {\n "signature_def": {\n  "')
        assert text.endswith("\n }\n}\n}\n}\n")

    with_port(check)


def test_all_models_are_listed():
    async def check(port: Port) -> None:
        port.catalog.add("expected")
        status, body = await port.ask("GET", "/v1/models")
        models = {model["name"]: model for model in body["models"]}
        assert status == 200
        assert models["half"]["model_version_status"] == [TWO, ONE]
        assert models["half"]["version_labels"] == {"stable": "1"}
        assert models["broken"]["model_version_status"] == [FAILED]
        assert models["expected"]["model_version_status"] == []

    with_port(check)


@pytest.mark.parametrize("path", ["/", "/index", "/v2/health", "/v1", "//", "/%00"])
def test_an_unknown_path_is_answered_as_in_libevent(path):
    async def check(port: Port) -> None:
        status, body = await port.ask("GET", path)
        assert (status, b"<TITLE>404 Not Found</TITLE>" in body) == (404, True)

    with_port(check)


def test_readiness_fails_until_the_server_is_ready():
    async def check(port: Port) -> None:
        status, body = await port.ask("GET", "/v1/health/ready")
        assert (status, body) == (503, {"error": "Not ready: not every model is available"})
        assert (await port.ask("GET", "/v1/health/live"))[0] == 200

    with_port(check, ready=lambda: False)


def test_what_is_published_later_is_answered_at_once():
    async def check(port: Port) -> None:
        newest = port.catalog.get("half", 2)
        port.catalog.withdraw("half", 2)
        assert (await port.ask("POST", "/v1/models/half:predict", {"inputs": [0]}))[1] == {"outputs": [1.0]}
        port.catalog.publish(newest)
        assert (await port.ask("POST", "/v1/models/half:predict", {"inputs": [0]}))[1] == {"outputs": [2.0]}

    with_port(check)
