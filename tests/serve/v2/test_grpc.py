import grpc
import numpy as np
import pytest
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serve.v2.server import TYPES

from tfport.formats.proto import inference_pb2 as pb
from tfport.serve.v2.grpc import SERVICE, file_descriptor
from tfport.serve.v2.tensors import CONTENTS, NUMPY

Input, Output = pb.ModelInferRequest.InferInputTensor, pb.ModelInferRequest.InferRequestedOutputTensor
METHODS = {m.name: m for m in pb.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods}


@pytest.fixture(scope="module")
def call(server):
    """Call a method with a message or with arbitrary bytes."""
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:

        def call(method, request):
            answer = getattr(pb, METHODS[method].output_type.name)
            body = request if isinstance(request, bytes) else request.SerializeToString()
            return channel.unary_unary(f"/{SERVICE}/{method}", None, answer.FromString)(body, timeout=60)

        yield call


def fp32(name, *values, **more):
    contents = pb.InferTensorContents(fp32_contents=values)
    return Input(
        **{"name": name, "datatype": "FP32", "shape": [1, len(values)], "contents": contents, **more}
    )


def sums(*more, model="sums", **fields):
    return pb.ModelInferRequest(
        model_name=model, inputs=[fp32("a", 1, 2, 3), fp32("b", 4, 5, 6), *more], **fields
    )


def test_health(server, call):
    assert call("ServerLive", pb.ServerLiveRequest()).live
    assert call("ServerReady", pb.ServerReadyRequest()).ready
    assert call("ModelReady", pb.ModelReadyRequest(name="sums", version="8")).ready
    for name, version in (("sums", "9"), ("broken", ""), ("nobody", ""), ("sums", "x")):
        assert not call("ModelReady", pb.ModelReadyRequest(name=name, version=version)).ready


def test_metadata(call):
    about = call("ServerMetadata", pb.ServerMetadataRequest())
    assert (about.name, "model_repository" in about.extensions) == ("tfport", True)
    model = call("ModelMetadata", pb.ModelMetadataRequest(name="sums"))
    assert (model.name, model.versions, model.platform) == ("sums", ["7", "8"], "tensorflow_savedmodel")
    assert [(t.name, t.datatype, t.shape) for t in model.inputs] == [
        ("a", "FP32", [-1, 3]),
        ("b", "FP32", [-1, 3]),
    ]


def test_the_index_of_the_repository(call):
    rows = call("RepositoryIndex", pb.RepositoryIndexRequest()).models
    assert ("broken", "1", "UNAVAILABLE", "no variables") in [
        (r.name, r.version, r.state, r.reason) for r in rows
    ]
    ready = call("RepositoryIndex", pb.RepositoryIndexRequest(ready=True)).models
    assert {row.state for row in ready} == {"READY"}


def test_outputs_come_in_the_requested_order_with_the_id(call):
    answer = call("ModelInfer", sums(id="42", outputs=[Output(name="sum"), Output(name="difference")]))
    assert (answer.id, answer.model_name, answer.model_version) == ("42", "sums", "8")
    assert [(o.name, o.datatype, list(o.shape)) for o in answer.outputs] == [
        ("sum", "FP32", [1, 3]),
        ("difference", "FP32", [1, 3]),
    ]
    assert [np.frombuffer(raw, np.float32).tolist() for raw in answer.raw_output_contents] == [
        [5, 7, 9],
        [-3, -3, -3],
    ]


def test_requests_are_counted_for_existing_models(server, call):
    server.counted.requests.clear()
    call("ModelInfer", sums())
    with pytest.raises(grpc.RpcError):
        call("ModelInfer", sums(model="made-up"))
    call("ServerLive", pb.ServerLiveRequest())
    assert server.counted.requests == [
        ("sums", "ModelInfer", "GRPC", "OK"),
        ("", "ModelInfer", "GRPC", "NOT_FOUND"),
    ]


def echo(name, **tensor):
    parameters = {"signature_name": pb.InferParameter(string_param=name)}
    raw = tensor.pop("raw", [])
    return pb.ModelInferRequest(
        model_name="echo",
        parameters=parameters,
        inputs=[Input(name="x", datatype=name, shape=[2], **tensor)],
        raw_input_contents=raw,
    )


@pytest.mark.parametrize("name", TYPES)
def test_every_datatype_as_raw_bytes_and_typed(call, name):
    raw = b"\1\0\0\0a\2\0\0\0bc" if name == "BYTES" else np.array([0, 1]).astype(NUMPY[name]).tobytes()
    answer = call("ModelInfer", echo(name, raw=[raw]))
    assert (answer.outputs[0].datatype, answer.raw_output_contents) == (name, [raw])
    if name in CONTENTS:
        values = [b"a", b"bc"] if name == "BYTES" else [0, 1]
        contents = pb.InferTensorContents(**{CONTENTS[name]: values})
        assert call("ModelInfer", echo(name, contents=contents)).raw_output_contents == [raw]


too_large = pb.InferTensorContents(int_contents=[1, 128])
no_name = {"signature_name": pb.InferParameter(bool_param=True)}
region = {"shared_memory_region": pb.InferParameter(string_param="r")}
BAD = [  # request, code, part of the message
    (sums(model="nobody"), "NOT_FOUND", "Request for unknown model: 'nobody' is not found"),
    (sums(model_version="9"), "NOT_FOUND", "Request for unknown model: 'sums' version 9 is not found"),
    (sums(fp32("a", 1)), "INVALID_ARGUMENT", "duplicate input 'a'"),
    (sums(outputs=[Output(name="x")]), "INVALID_ARGUMENT", "unexpected inference output 'x'"),
    (sums(raw_input_contents=[b""]), "INVALID_ARGUMENT", "expected 2 raw_input_contents"),
    (sums(raw_input_contents=[b"", b""]), "INVALID_ARGUMENT", "contents field must not be specified"),
    (sums(fp32("c", 1, parameters=region)), "UNIMPLEMENTED", "'shared_memory_region'"),
    (sums(fp32("c", 1, shape=[2])), "INVALID_ARGUMENT", "has 1 elements in fp32_contents"),
    (sums(fp32("c", 1, shape=[-1])), "INVALID_ARGUMENT", "invalid shape for input 'c'"),
    (sums(fp32("c", 1, datatype="FP16")), "INVALID_ARGUMENT", "must be in raw_input_contents"),
    (echo("INT8", contents=too_large), "INVALID_ARGUMENT", "range of INT8"),
    (pb.ModelInferRequest(model_name="sums"), "INVALID_ARGUMENT", "Missing but required: {a,b}"),
    (sums(parameters=no_name), "INVALID_ARGUMENT", "parameter 'signature_name' must be a string"),
    (b"\xff\xff", "INVALID_ARGUMENT", "cannot parse 2 bytes as ModelInferRequest"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "code", "message"), BAD)
def test_a_bad_request_gets_one_clear_sentence(call, request_, code, message):
    with pytest.raises(grpc.RpcError) as caught:
        call("ModelInfer", request_)
    assert caught.value.code().name == code
    assert message in caught.value.details()


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.binary(max_size=30).map(lambda b: b"\x0a\x04sums" + b))
def test_no_message_makes_the_server_fail(call, body):
    code = "OK"
    try:
        call("ModelInfer", body)
    except grpc.RpcError as error:
        code = error.code().name
    assert code in ("OK", "INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED")


def test_reflection_at_the_port_tells_of_the_service(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICE in database.get_services()
        service = descriptor_pool.DescriptorPool(database).FindServiceByName(SERVICE)
        assert [m.name for m in service.methods] == list(METHODS)


def test_reflection_gets_the_service_under_its_real_name():
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_descriptor())
    service = pool.FindServiceByName(SERVICE)
    kind = message_factory.GetMessageClass(service.FindMethodByName("ModelInfer").input_type)
    assert kind.DESCRIPTOR.full_name == "inference.ModelInferRequest"
    assert pb.ModelInferRequest.FromString(kind(model_name="m").SerializeToString()).model_name == "m"
    assert b"tfport" not in file_descriptor().SerializeToString()
