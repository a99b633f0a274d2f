"""Triton's own Python clients, unmodified, against the Open Inference Protocol on real ports."""

import warnings

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="pip install tfport[serve]")
from tests.serve.v2.server import TYPES, serving

with warnings.catch_warnings():  # its generated code was made by an older protobuf
    warnings.simplefilter("ignore")
    triton_http = pytest.importorskip("tritonclient.http", reason="pip install tritonclient[http,grpc]")
    triton_grpc = pytest.importorskip("tritonclient.grpc", reason="pip install tritonclient[http,grpc]")
    from tritonclient.utils import InferenceServerException

ARRAYS = {
    name: np.array([[0, 1], [1, 0]]).astype(getattr(ml_dtypes, kind, kind))
    for name, kind in TYPES.items()
    if name != "BYTES"
} | {"BYTES": np.array([[b"", "Größe".encode()], [b"\xff\0", b"a" * 300]], object)}


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def over_http(server):
    with triton_http.InferenceServerClient(f"127.0.0.1:{server.rest}") as client:
        yield client


@pytest.fixture(scope="module")
def over_grpc(server):
    with triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        yield client


@pytest.fixture(params=["http", "grpc"])
def client(request):
    return request.getfixturevalue(f"over_{request.param}")


def module(client):
    return triton_http if isinstance(client, triton_http.InferenceServerClient) else triton_grpc


def input_of(client, name, datatype, array, **how):
    tensor = module(client).InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array, **how)
    return tensor


def rows(client, **how):
    a, b = np.array([[1, 2, 3]], np.float32), np.array([[4, 5, 6]], np.float32)
    return [input_of(client, "a", "FP32", a, **how), input_of(client, "b", "FP32", b, **how)]


def field(answer, name):
    return answer[name] if isinstance(answer, dict) else getattr(answer, name)


def test_health(client, server):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("sums")
    assert client.is_model_ready("sums", "7")
    assert not client.is_model_ready("sums", "9")
    assert not client.is_model_ready("broken")
    assert not client.is_model_ready("nobody")
    server.is_ready = False
    try:
        assert not client.is_server_ready()
    finally:
        server.is_ready = True


def test_metadata(client):
    assert field(client.get_server_metadata(), "name") == "tfport"
    model = client.get_model_metadata("sums")
    assert list(field(model, "versions")) == ["7", "8"]
    assert [(field(t, "name"), field(t, "datatype"), list(map(int, field(t, "shape"))))
            for t in field(model, "inputs")] == [("a", "FP32", [-1, 3]), ("b", "FP32", [-1, 3])]  # fmt: skip


def test_the_index_of_the_repository(client):
    index = client.get_model_repository_index()
    models = index if isinstance(index, list) else index.models
    states = {
        (field(r, "name"), field(r, "version")): field(r, "state") for r in models if len(r_keys(r)) > 1
    }
    assert states["sums", "8"] == "READY"
    assert states["broken", "1"] == "UNAVAILABLE"


def r_keys(row):
    return row if isinstance(row, dict) else row.ListFields()


@pytest.mark.parametrize("name", TYPES)
def test_arrays_of_every_datatype_come_back(client, name):
    asked = [input_of(client, "x", name, ARRAYS[name])]
    answer = client.infer("echo", asked, request_id="7", parameters={"signature_name": name})
    array = answer.as_numpy("y")
    assert (array.dtype, array.tolist()) == (ARRAYS[name].dtype, ARRAYS[name].tolist())
    assert field(answer.get_response(), "id") == "7"


@pytest.mark.parametrize(
    "name", sorted(set(TYPES) - {"FP16", "BF16"})
)  # the client sends these as binary only
def test_json_data_of_every_datatype_comes_back(over_http, name):
    array = np.array([["a", "Größe"]], object) if name == "BYTES" else ARRAYS[name]
    asked = [input_of(over_http, "x", name, array, binary_data=False)]
    wanted = [triton_http.InferRequestedOutput("y", binary_data=False)]
    answer = over_http.infer("echo", asked, outputs=wanted, parameters={"signature_name": name})
    assert answer.as_numpy("y").tolist() == array.tolist()


def test_requested_outputs(client):
    answer = client.infer("sums", rows(client), outputs=[module(client).InferRequestedOutput("sum")])
    assert answer.as_numpy("sum").tolist() == [[5, 7, 9]]
    assert answer.as_numpy("difference") is None


def test_versions(client):
    for version, used in (("7", "7"), ("8", "8"), ("", "8"), ("stable", "7")):
        answer = client.infer("sums", rows(client), model_version=version)
        assert field(answer.get_response(), "model_version") == used


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_requests(client, algorithm):
    if module(client) is triton_http:
        answer = client.infer("sums", rows(client), request_compression_algorithm=algorithm)
    else:
        answer = client.infer("sums", rows(client), compression_algorithm=algorithm)
    assert answer.as_numpy("sum").tolist() == [[5, 7, 9]]


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_answers(over_http, algorithm):
    many = np.zeros((5000, 3), np.float32)
    asked = [input_of(over_http, name, "FP32", many) for name in "ab"]
    answer = over_http.infer("sums", asked, response_compression_algorithm=algorithm)
    assert answer.as_numpy("sum").shape == (5000, 3)


def test_asynchronous_calls(over_http):
    waiting = [over_http.async_infer("sums", rows(over_http)) for _ in range(8)]
    assert [w.get_result().as_numpy("sum").tolist() for w in waiting] == [[[5, 7, 9]]] * 8


BAD = [  # model, datatype, shape, http, grpc, message
    ("nobody", "FP32", (1, 3), "404", "NOT_FOUND", "Request for unknown model: 'nobody' is not found"),
    ("sums", "INT32", (1, 3), "400", "INVALID_ARGUMENT",
     "inference input 'a' data-type is 'INT32', but model 'sums' expects 'FP32'"),
    ("sums", "FP32", (1, 4), "400", "INVALID_ARGUMENT",
     "unexpected shape for input 'a' for model 'sums'. Expected [-1,3], got [1,4]"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "datatype", "shape", "http", "grpc", "message"), BAD)
def test_errors(client, model, datatype, shape, http, grpc, message):
    array = np.zeros(shape, np.float32 if datatype == "FP32" else np.int32)
    with pytest.raises(InferenceServerException) as caught:
        client.infer(model, [input_of(client, "a", datatype, array)])
    assert caught.value.status() == (http if module(client) is triton_http else f"StatusCode.{grpc}")
    assert caught.value.message() == message


@pytest.mark.parametrize("call", ["get_model_metadata", "get_model_config"])
def test_unsupported_calls_are_errors(client, call):
    with pytest.raises(InferenceServerException):
        getattr(client, call)("nobody")
