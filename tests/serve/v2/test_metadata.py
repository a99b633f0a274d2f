"""Metadata of the server and its models, and health checks."""

import pytest
from tests.serve.v2.rest_client import ask_json

A, B, OUT = (
    {"name": "a", "datatype": "FP32", "shape": [-1, 3]},
    {"name": "b", "datatype": "FP32", "shape": [-1, 3]},
    [{"name": n, "datatype": "FP32", "shape": [-1]} for n in ("difference", "sum")],
)
SUMS = {
    "name": "sums",
    "versions": ["7", "8"],
    "platform": "tensorflow_savedmodel",
    "inputs": [A, B],
    "outputs": OUT,
    "properties": {"signature_name": "serving_default", "signatures": "only_sum,serving_default"},
}
UNKNOWN = {"error": "Request for unknown model: 'nobody' is not found"}
GETS = [  # path, status, body
    ("/v2/health/live", 200, {"live": True}),
    ("/v2/health/ready", 200, {"ready": True}),
    ("/v2/models/sums", 200, SUMS),
    ("/v2/models/sums/versions/7", 200, {**SUMS, "versions": ["7"]}),
    ("/v2/models/sums/versions/stable", 200, {**SUMS, "versions": ["7"]}),
    ("/v2/models/nobody", 404, UNKNOWN),
    (
        "/v2/models/sums/versions/9",
        404,
        {"error": "Request for unknown model: 'sums' version 9 is not found"},
    ),
    ("/v2/models/sums/versions/x", 400, {"error": "Unrecognized servable version label: x"}),
    ("/v2/models/broken", 404, {"error": "Request for unknown model: 'broken' has no available versions"}),
    ("/v2/models/sums/ready", 200, {"name": "sums", "ready": True}),
    ("/v2/models/sums/versions/8/ready", 200, {"name": "sums", "ready": True}),
    ("/v2/models/sums/versions/9/ready", 503, {"name": "sums", "ready": False}),
    ("/v2/models/broken/ready", 503, {"name": "broken", "ready": False}),
    ("/v2/models/nobody/ready", 404, UNKNOWN),
    ("/v2/models/sums/infer", 404, {"error": "no such path: GET /v2/models/sums/infer"}),
    ("/v2/models/sums/config", 404, {"error": "no such path: GET /v2/models/sums/config"}),
]


@pytest.mark.parametrize(("path", "status", "body"), GETS)
def test_metadata_of_the_server_and_models(server, path, status, body):
    assert ask_json(server, "GET", path) == (status, body)


def test_the_server_names_itself_and_its_extensions(server):
    status, body = ask_json(server, "GET", "/v2")
    assert (status, body["name"]) == (200, "tfport")
    assert "binary_tensor_data" in body["extensions"]


def test_probes_fail_until_the_server_is_ready(server):
    server.is_ready = False
    try:
        assert ask_json(server, "GET", "/v2/health/ready") == (503, {"ready": False})
        assert ask_json(server, "GET", "/v2/health/live") == (200, {"live": True})
    finally:
        server.is_ready = True


def test_metadata_of_a_signature_that_is_named(server):
    _, body = ask_json(server, "GET", "/v2/models/sums?signature_name=only_sum")
    assert [output["name"] for output in body["outputs"]] == ["sum"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_index_of_the_repository(server, method):
    status, rows = ask_json(server, method, "/v2/repository/index")
    assert status == 200
    assert {"name": "awaited"} in rows
    assert {"name": "broken", "version": "1", "state": "UNAVAILABLE", "reason": "no variables"} in rows
    assert {"name": "sums", "version": "8", "state": "READY", "reason": ""} in rows
    _, ready = ask_json(server, "POST", "/v2/repository/index", {"ready": True})
    assert {row["state"] for row in ready} == {"READY"}
