"""The stubs of `tensorflow-serving-api` against a real server: every call, in one process with TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

pytest.importorskip("grpc_health", reason="pip install tfport[serve]")
pytest.importorskip("tensorflow_serving.apis", reason="pip install tensorflow-serving-api")
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2,
    prediction_service_pb2,
    regression_pb2,
)
from tests.live.serving_server import (
    CLASSIFY,
    REGRESS,
    TYPES,
    Server,
    predict,
    refused,
    save_models,
    serving,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with serving(save_models(tmp_path_factory.mktemp("models"))) as running:
        yield running


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


def test_reflection_agrees_with_the_real_descriptors(server):
    from tfport.serve.grpc.reflection_files import SERVICES, real_names

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


OWN_FIELDS = {("ModelConfig", "max_concurrent_runs"), ("ModelConfig", "gpu_memory_bytes")}
"""What docs/commands/serve.md names among the differences from TensorFlow Serving."""


def _agree(ours: object, theirs: object, seen: set[str]) -> None:
    """Check that every field of tfport's message exists in theirs with the same number, type and label."""
    if ours.full_name in seen:
        return
    seen.add(ours.full_name)
    for field in ours.fields:
        if (theirs.name, field.name) in OWN_FIELDS:
            assert field.number not in theirs.fields_by_number
            continue
        other = theirs.fields_by_name[field.name]
        assert (field.number, field.type) == (other.number, other.type), field.full_name
        if field.message_type is not None:
            _agree(field.message_type, other.message_type, seen)
