"""The stubs of `tensorflow-serving-api` against a real server: every call, in one process with TensorFlow."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

pytest.importorskip("grpc_health", reason="pip install tfport[serve]")
import tfport
from tfport.runtime.session import Session
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.servable import Servable, ThreadRunner
from tfport.serve.status import StatusCode, StatusError

apis = pytest.importorskip("tensorflow_serving.apis", reason="pip install tensorflow-serving-api")
from tensorflow_serving.apis import (  # noqa: E402
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

TYPES = [
    tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
    tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.string, tf.complex64, tf.complex128,
]  # fmt: skip
CLASSIFY, REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"
LIMIT = 4 * 2**20
FEATURES = {"x": tf.io.FixedLenFeature([2], tf.float32, [3.0, 1.0])}


def echo_of(dtype: tf.DType) -> object:
    return tf.function(lambda x: {"y": tf.identity(x)}, input_signature=[tf.TensorSpec(None, dtype, "x")])


class Echo(tf.Module):
    """Returns its input, for every element type."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = {dtype.name: echo_of(dtype) for dtype in TYPES}


class Linear(tf.Module):
    """A linear layer with variables."""

    def __init__(self, bias: float) -> None:
        super().__init__()
        self.weights = tf.Variable([[1.0, -2.0], [0.5, 4.0], [3.0, 0.25]])
        self.bias = tf.Variable(bias)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        product = tf.matmul(x, self.weights)
        return {"product": product, "sum": tf.nn.softmax(product + self.bias)}


class Classifier(tf.Module):
    """Classifies and regresses Examples."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def classify(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        x = tf.io.parse_example(inputs, FEATURES)["x"]
        return {"classes": tf.tile([["cat", "dog"]], [tf.shape(x)[0], 1]), "scores": tf.nn.softmax(x)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def regress(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"outputs": tf.reduce_sum(tf.io.parse_example(inputs, FEATURES)["x"], 1)}


@dataclass
class Server:
    """A server, its stubs and its models."""

    port: int
    folders: dict[str, str]
    catalog: ModelCatalog
    reloads: list[object]
    channel: grpc.Channel

    @property
    def predictions(self) -> prediction_service_pb2_grpc.PredictionServiceStub:
        return prediction_service_pb2_grpc.PredictionServiceStub(self.channel)

    @property
    def models(self) -> model_service_pb2_grpc.ModelServiceStub:
        return model_service_pb2_grpc.ModelServiceStub(self.channel)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    echo, classifier = Echo(), Classifier()
    saved = {
        "echo": (echo, echo.calls),
        "linear1": (linear1 := Linear(0.0), linear1.serve),
        "linear2": (two := Linear(1.0), two.serve),
        "examples": (classifier, {"serving_default": classifier.classify, "regress": classifier.regress}),
    }
    for name, (module, signatures) in saved.items():
        tf.saved_model.save(module, str(root / name), signatures)
    return {name: str(root / name) for name in saved}


@pytest.fixture(scope="module")
def server(folders) -> Iterator[Server]:
    loop, reloads, catalog = asyncio.new_event_loop(), [], ModelCatalog()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def reload(config: object) -> None:
        if config.model_config_list.config[0].name == "bad":
            raise StatusError(StatusCode.FAILED_PRECONDITION, "there is no such folder")
        reloads.append(config)

    with ThreadPoolExecutor(2) as pool:
        runner = ThreadRunner(pool)
        for key, folder in folders.items():
            name, version = (key[:-1], int(key[-1])) if key[-1].isdigit() else (key, 5)
            catalog.publish(Servable(name, version, Session(tfport.load(folder)), runner))
        catalog.publish(Servable("stuck", 5, Session(tfport.load(folders["linear1"])), never))
        catalog.set_labels("linear", {"stable": 1})
        catalog.set_status("linear", VersionStatus(3, VersionState.END, StatusCode.UNKNOWN, "cut off"))
        front = GrpcServer(catalog, reload=reload, options=GrpcOptions(port=0, largest_message=LIMIT))
        port = asyncio.run_coroutine_threadsafe(front.start(), loop).result()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Server(port, folders, catalog, reloads, channel)
        asyncio.run_coroutine_threadsafe(front.stop(1), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def never(*_: object) -> dict[str, np.ndarray]:
    """A runner that never answers."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def predict(name: str, signature: str = "", **inputs: object) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def values_of(dtype: tf.DType) -> np.ndarray:
    if dtype == tf.string:
        return np.array([[b"a", b""], [b"\xff\x00", b"long" * 99]], object)
    if dtype == tf.bool:
        return np.array([[True, False], [False, False]])
    numbers = np.array([[0, 1], [100, 5]]) if dtype.is_unsigned else np.array([[0, -1], [100, 5]])
    return numbers.astype(dtype.as_numpy_dtype)


def typed(array: np.ndarray, dtype: tf.DType) -> tf.compat.v1.TensorProto:
    """Return a TensorProto with its elements in typed fields, made from Python lists."""
    return tf.make_tensor_proto(array.tolist(), dtype, array.shape)


@pytest.mark.parametrize("form", ["content", "typed"])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_every_type_comes_back(server, dtype, form):
    array = values_of(dtype)
    request = predict("echo", dtype.name)
    proto = tf.make_tensor_proto(array, dtype) if form == "content" else typed(array, dtype)
    request.inputs["x"].CopyFrom(proto)
    answer = server.predictions.Predict(request, 10).outputs["y"]
    assert answer.dtype == dtype.as_datatype_enum
    assert not answer.tensor_content
    np.testing.assert_array_equal(tf.make_ndarray(answer), array)


def test_predict_answers_what_tensorflow_does(server):
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    answer = server.predictions.Predict(predict("linear", x=x), 10)
    expected = tf.saved_model.load(server.folders["linear2"]).signatures["serving_default"](x=tf.constant(x))
    assert set(answer.outputs) == set(expected)
    for name, tensor in expected.items():
        np.testing.assert_allclose(tf.make_ndarray(answer.outputs[name]), tensor.numpy(), rtol=1e-5)
    spec = answer.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("linear", 2, "serving_default")


def test_versions_labels_and_filters(server):
    request = predict("linear", x=np.zeros((1, 3), np.float32))
    request.output_filter.append("sum")
    request.model_spec.version.value = 1
    answer = server.predictions.Predict(request, 10)
    assert (set(answer.outputs), answer.model_spec.version.value) == ({"sum"}, 1)
    request.model_spec.version_label = "stable"
    assert server.predictions.Predict(request, 10).model_spec.version.value == 1


def example(*x: float) -> tf.train.Example:
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=x))
    return tf.train.Example(features=tf.train.Features(feature={"x": feature} if x else {}))


def test_classify_regress_and_both_at_once(server):
    examples = [example(1.0, 2.0), example()]
    texts = tf.constant([proto.SerializeToString() for proto in examples])
    loaded = tf.saved_model.load(server.folders["examples"]).signatures
    scores = loaded["serving_default"](inputs=texts)["scores"].numpy()
    sums = loaded["regress"](inputs=texts)["outputs"].numpy()

    classify = classification_pb2.ClassificationRequest()
    classify.model_spec.name = "examples"
    classify.input.example_list.examples.extend(examples)
    regress = regression_pb2.RegressionRequest(input=classify.input)
    regress.model_spec.name, regress.model_spec.signature_name = "examples", "regress"
    both = inference_pb2.MultiInferenceRequest(input=classify.input)
    both.tasks.add(model_spec=classify.model_spec, method_name=CLASSIFY)
    both.tasks.add(model_spec=regress.model_spec, method_name=REGRESS)

    first = server.predictions.Classify(classify, 10).result
    second = server.predictions.Regress(regress, 10).result
    together = server.predictions.MultiInference(both, 10).results
    for result in (first, together[0].classification_result):
        assert [[c.label for c in row.classes] for row in result.classifications] == [["cat", "dog"]] * 2
        actual = [[c.score for c in row.classes] for row in result.classifications]
        np.testing.assert_allclose(actual, scores, rtol=1e-6)
    for result in (second, together[1].regression_result):
        np.testing.assert_allclose([r.value for r in result.regressions], sums, rtol=1e-6)


def test_a_context_is_in_every_example(server):
    request = regression_pb2.RegressionRequest()
    request.model_spec.name, request.model_spec.signature_name = "examples", "regress"
    both = request.input.example_list_with_context
    both.examples.extend([example(), example(1.0, 1.0)])
    both.context.CopyFrom(example(10.0, 20.0))
    assert [r.value for r in server.predictions.Regress(request, 10).result.regressions] == [30.0, 2.0]


def test_metadata_is_the_signatures_of_the_file(server):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "linear"
    answer = server.predictions.GetModelMetadata(request, 10)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    saved = SavedModel.FromString(Path(server.folders["linear2"], "saved_model.pb").read_bytes())
    assert signatures.signature_def == saved.meta_graphs[0].signature_def
    assert answer.model_spec.version.value == 2


def test_status_of_every_version(server):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "linear"
    answer = server.models.GetModelStatus(request, 10)
    states = get_model_status_pb2.ModelVersionStatus
    versions = [(v.version, v.state, v.status.error_code) for v in answer.model_version_status]
    assert versions == [(3, states.END, 2), (2, states.AVAILABLE, 0), (1, states.AVAILABLE, 0)]


def test_a_configuration_is_passed_on(server):
    request = model_management_pb2.ReloadConfigRequest()
    config = request.config.model_config_list.config.add(name="linear", base_path="/models/linear")
    config.model_version_policy.specific.versions.append(4)
    config.version_labels["stable"] = 4
    assert server.models.HandleReloadConfigRequest(request, 10).status.error_code == 0
    (taken,) = server.reloads[-1].model_config_list.config
    assert (taken.name, taken.base_path, dict(taken.version_labels)) == (
        "linear",
        "/models/linear",
        {"stable": 4},
    )
    assert list(taken.model_version_policy.specific.versions) == [4]
    config.name = "bad"
    error = refused(server.models.HandleReloadConfigRequest, request)
    assert error == (grpc.StatusCode.FAILED_PRECONDITION, "there is no such folder")


def refused(call: object, request: object, timeout: float = 10) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as error:
        call(request, timeout)
    return error.value.code(), error.value.details()


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
    assert "(?, 3)" in message


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


def test_reflection_agrees_with_the_real_descriptors(server):
    from tfport.serve.grpc.reflection import SERVICES, real_names

    pool = real_names()
    real = {"PredictionService": prediction_service_pb2, "ModelService": model_service_pb2}
    for name in SERVICES:
        ours = pool.FindServiceByName(f"tensorflow.serving.{name}")
        theirs = real[name].DESCRIPTOR.services_by_name[name]
        assert _calls(ours) == _calls(theirs)
        for method in ours.methods:
            other = theirs.methods_by_name[method.name]
            _agree(method.input_type, other.input_type, set())
            _agree(method.output_type, other.output_type, set())


def _calls(service: object) -> set[tuple[str, str, str]]:
    return {(m.name, m.input_type.full_name, m.output_type.full_name) for m in service.methods}


def _agree(ours: object, theirs: object, seen: set[str]) -> None:
    """Check that every field of tfport's message exists in theirs with the same number, type and label."""
    if ours.full_name in seen:
        return
    seen.add(ours.full_name)
    for field in ours.fields:
        other = theirs.fields_by_name[field.name]
        assert (field.number, field.type) == (other.number, other.type), field.full_name
        if field.message_type is not None:
            _agree(field.message_type, other.message_type, seen)
