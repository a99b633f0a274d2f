import gzip
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serve.v2.rest_client import LENGTH, ask, ask_json, fp32, sums
from tests.serve.v2.server import LIMIT, TYPES

from tfport.serve.v2.tensors import NUMPY


def test_outputs_come_in_the_requested_order_with_the_id(server):
    asked = sums(id="42", outputs=[{"name": "sum"}, {"name": "difference"}])
    assert ask_json(server, "POST", "/v2/models/sums/versions/7/infer", asked) == (
        200,
        {
            "model_name": "sums",
            "model_version": "7",
            "id": "42",
            "outputs": [
                {"name": "sum", "datatype": "FP32", "shape": [1, 3], "data": [5, 7, 9]},
                {"name": "difference", "datatype": "FP32", "shape": [1, 3], "data": [-3, -3, -3]},
            ],
        },
    )


def test_requests_are_counted_for_existing_models(server):
    server.counted.requests.clear()
    for model in ("sums", "broken", "made-up"):
        ask(server, "POST", f"/v2/models/{model}/infer", sums())
    assert server.counted.requests == [
        ("sums", "infer", "REST", "OK"),
        ("broken", "infer", "REST", "NOT_FOUND"),
        ("", "infer", "REST", "NOT_FOUND"),
    ]


def test_null_is_as_good_as_nothing(server):
    asked = sums(id=None, parameters=None, outputs=None)
    asked["inputs"][0]["parameters"] = None
    assert ask_json(server, "POST", "/v2/models/sums/infer", asked)[0] == 200


def test_a_signature_is_chosen_by_a_parameter(server):
    _, body = ask_json(
        server, "POST", "/v2/models/sums/infer", sums(parameters={"signature_name": "only_sum"})
    )
    assert [output["name"] for output in body["outputs"]] == ["sum"]
    assert body["model_version"] == "8"


def test_a_compressed_request(server):
    body = gzip.compress(json.dumps(sums()).encode())
    assert ask(server, "POST", "/v2/models/sums/infer", body, {"Content-Encoding": "gzip"})[0] == 200


@pytest.mark.parametrize("name", TYPES)
def test_binary_tensors_of_every_datatype(server, name):
    raw = (
        struct.pack("<I", 2) + b"\xffa" + struct.pack("<I", 0)
        if name == "BYTES"
        else np.array([0, 1], np.uint8).astype(NUMPY[name]).tobytes()
    )
    tensor = {"datatype": name, "shape": [2, 1], "parameters": {"binary_data_size": len(raw)}}
    head = json.dumps({
        "parameters": {"signature_name": name, "binary_data_output": True},
        "inputs": [{"name": "x", **tensor}],
    }).encode()  # fmt: skip
    status, headers, body = ask(server, "POST", "/v2/models/echo/infer", head + raw, {LENGTH: str(len(head))})
    assert (status, headers["Content-Type"]) == (200, "application/octet-stream")
    size = int(headers[LENGTH])
    assert json.loads(body[:size])["outputs"] == [{"name": "y", **tensor}]
    assert body[size:] == raw


def test_one_output_may_be_binary_and_the_other_not(server):
    outputs = [{"name": "sum", "parameters": {"binary_data": True}}, {"name": "difference"}]
    _, headers, body = ask(server, "POST", "/v2/models/sums/infer", sums(outputs=outputs))
    size = int(headers[LENGTH])
    assert json.loads(body[:size])["outputs"][1]["data"] == [-3, -3, -3]
    assert np.frombuffer(body[size:], np.float32).tolist() == [5, 7, 9]


def test_a_body_that_is_only_the_data_of_the_one_input(server):
    lines = b"no length in front"
    status, headers, body = ask(server, "POST", "/v2/models/strings/infer", lines, {LENGTH: "0"})
    assert status == 200
    names = [output["name"] for output in json.loads(body[: int(headers[LENGTH])])["outputs"]]
    assert names == ["buckets", "bytes", "joined", "lengths"]


def test_nan_is_read_and_written(server):
    body = json.dumps(sums()).replace("[1, 2, 3]", "[NaN, Infinity, 3]")
    _, _, text = ask(server, "POST", "/v2/models/sums/infer", body)
    assert b'"data":[NaN,Infinity,9.0]' in text


REGION = {"shared_memory_region": "r"}
X = {"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}
BAD = [  # model, body, status, part of the message
    ("nobody", sums(), 404, "unknown model: 'nobody' is not found"),
    ("sums", b"", 400, "failed to parse the request JSON"),
    ("sums", b"{", 400, "failed to parse the request JSON"),
    ("sums", b'{"a": NaN', 400, "failed to parse the request JSON"),
    ("sums", b"[" * 100_000, 400, "failed to parse the request JSON"),
    ("sums", b"[NaN, " + b"[" * 100_000, 400, "failed to parse the request JSON"),
    ("sums", [], 400, "the inference request must be a JSON object"),
    ("sums", {}, 400, "Unable to parse 'inputs'"),
    ("sums", {"inputs": [5]}, 400, "an input must be a JSON object"),
    ("sums", {"inputs": [{}]}, 400, "Unable to parse 'name'"),
    ("sums", {"inputs": []}, 400, "Missing but required: {a,b}"),
    ("sums", sums(fp32("a", 1)), 400, "duplicate input 'a'"),
    ("sums", sums(fp32("c", 1)), 400, "unexpected inference input 'c' for model 'sums'"),
    ("sums", sums(id=5), 400, "Unable to parse 'id'"),
    ("sums", sums(outputs=[{"name": "x"}]), 400, "unexpected inference output 'x' for model 'sums'"),
    ("sums", sums(outputs={}), 400, "Unable to parse 'outputs'"),
    ("sums", sums(parameters=[]), 400, "'parameters' must be a JSON object"),
    ("sums", sums(parameters={"signature_name": 5}), 400, "Unable to parse 'signature_name'"),
    ("sums", sums(parameters={"signature_name": "x"}), 400, 'Serving signature name: "x" not found'),
    ("sums", {"inputs": [fp32("a", 1)]}, 400, "for model 'sums'. Expected [-1,3], got [1]"),
    ("sums", sums(outputs=[{"name": "sum", "parameters": {"classification": 3}}]), 501, "'classification'"),
    ("sums", {"inputs": [fp32("a", 1, parameters=REGION)]}, 501, "'shared_memory_region'"),
    ("sums", {"inputs": [fp32("a", parameters={"binary_data_size": 4})]}, 400, "4 additional bytes"),
    ("sums", {"inputs": [fp32("a", parameters={"binary_data_size": "4"})]}, 400, "'binary_data_size'"),
    ("strings", {"inputs": [{**X, "name": "lines"}]}, 400, "but model 'strings' expects 'BYTES'"),
    ("echo", {"inputs": [X]}, 400, "has no signature 'serving_default'; choose one"),
    ("complex", {"inputs": [X], "parameters": {"signature_name": "odd"}}, 501, "'y' is complex64"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "body", "status", "message"), BAD)
def test_a_bad_request_gets_one_clear_sentence(server, model, body, status, message):
    answered, text = ask_json(server, "POST", f"/v2/models/{model}/infer", body)
    assert answered == status
    assert list(text) == ["error"]
    assert message in text["error"]


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "9" * 30, "100000"])
def test_an_invalid_length_of_the_json(server, length):
    status, body = ask_json(server, "POST", "/v2/models/sums/infer", sums(), {LENGTH: length})
    assert status == 400
    assert "header" in body["error"] or LENGTH in body["error"]


def test_bytes_that_no_input_takes_are_refused(server):
    head = json.dumps(sums()).encode()
    status, body = ask_json(server, "POST", "/v2/models/sums/infer", head + b"abc", {LENGTH: str(len(head))})
    assert (status, body["error"]) == (400, "unexpected additional input data for model 'sums': 3 bytes")


def test_a_body_beyond_the_limit_is_refused(server):
    status, body = ask_json(server, "POST", "/v2/models/sums/infer", b" " * (LIMIT + 1))
    assert status == 413
    assert "error" in body


def test_a_large_binary_request_is_answered(server):
    rows = 2**17
    array = np.ones((rows, 3), np.float32)
    tensor = {"datatype": "FP32", "shape": [rows, 3], "parameters": {"binary_data_size": array.nbytes}}
    head = json.dumps({
        "inputs": [{"name": "a", **tensor}, {"name": "b", **tensor}],
        "outputs": [{"name": "sum", "parameters": {"binary_data": True}}],
    }).encode()  # fmt: skip
    body = head + array.tobytes() * 2
    status, headers, answer = ask(server, "POST", "/v2/models/sums/infer", body, {LENGTH: str(len(head))})
    assert status == 200
    assert np.frombuffer(answer[int(headers[LENGTH]) :], np.float32).sum() == 2 * rows * 3


def test_a_sparse_output_is_refused(server):
    inputs = [
        {"name": "args_0", "datatype": "INT64", "shape": [1, 2], "data": [0, 0]},
        fp32("args_0_1", 1.5),
        {"name": "args_0_2", "datatype": "INT64", "shape": [2], "data": [2, 2]},
    ]
    status, body = ask_json(server, "POST", "/v2/models/sparse/infer", {"inputs": inputs})
    assert (status, body["error"]) == (
        501,
        "output 'scaled' is not dense; the protocol supports dense tensors only",
    )
    asked = {"inputs": inputs, "outputs": [{"name": "dense"}]}
    assert ask_json(server, "POST", "/v2/models/sparse/infer", asked)[0] == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("name", "datatype", "shape", "data", "parameters")
INPUT = st.fixed_dictionaries({}, optional={
    "name": st.sampled_from(["a", "b", "x"]) | JSON,
    "datatype": st.sampled_from(sorted(TYPES)) | JSON,
    "shape": st.lists(st.integers(-2, 4), max_size=3) | JSON,
    "data": st.lists(JSON, max_size=6) | JSON,
    "parameters": st.dictionaries(st.sampled_from(["binary_data_size", "classification"]), JSON) | JSON,
})  # fmt: skip
BODY = st.fixed_dictionaries({}, optional={
    "id": JSON,
    "parameters": st.dictionaries(st.sampled_from(["signature_name", "binary_data_output"]), JSON) | JSON,
    "inputs": st.lists(INPUT | JSON, max_size=3) | JSON,
    "outputs": st.lists(INPUT | JSON, max_size=3) | JSON,
})  # fmt: skip


@settings(max_examples=150)
@given(BODY | JSON, st.sampled_from(["sums", "strings", "echo"]), st.none() | st.integers(-1, 200))
def test_no_body_makes_the_server_fail(server, body, model, length):
    headers = {} if length is None else {LENGTH: str(length)}
    status, _, text = ask(server, "POST", f"/v2/models/{model}/infer", json.dumps(body).encode(), headers)
    assert status in (200, 400, 501), text
