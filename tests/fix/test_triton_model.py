"""Folders of Triton's model repository: their configuration, and the answers of both backends."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import onnxruntime as ort
import pytest
from tests.fix.certify.models import frozen
from tests.frontends.lite.cases import case
from tests.hostile_models import ENDLESS
from tests.recorded_models import graph, load

import tfport
from tfport.errors import CannotRun, Error
from tfport.fix import triton_model
from tfport.fix.export import saved_with
from tfport.fix.options import FixOptions, SignatureChanges
from tfport.fix.triton_model import write_triton_model
from tfport.formats.files import MemoryFiles
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model
from tfport.runtime.custom.registry import PROCESS_WIDE


def written(model, tmp_path, **options):
    result = write_triton_model(model, tmp_path, "m", FixOptions(**options), PROCESS_WIDE)
    return result, (tmp_path / "m" / "config.pbtxt").read_text()


def model_of(text):
    return Model("m", GRAPH_DEF, MemoryFiles("m", {}), graph(text), pb.MetaGraphDef())


def test_a_model_that_onnx_holds(tmp_path):
    model = load("keras_functional")
    result, config = written(model, tmp_path)
    assert (result.backend, result.max_batch_size) == ("onnxruntime", 32)
    assert 'input [ { name: "image" data_type: TYPE_FP32 dims: [ 4, 4, 1 ] } ]' in config
    assert 'output [ { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]' in config
    assert "dynamic_batching { }" in config
    inputs = {"image": np.ones((2, 4, 4, 1), np.float32), "word": np.array([[0, 1], [1, 0]], np.int32)}
    names = ["features", "score"]
    answers = ort.InferenceSession(tmp_path / "m" / "1" / "model.onnx").run(names, inputs)
    expected = tfport.Session(model).signature("serving_default")(**inputs)
    for name, answer in zip(names, answers, strict=True):
        assert np.allclose(answer, expected[name], rtol=1e-6)


class Tensor:
    """A tensor of Triton's module for models in Python."""

    def __init__(self, name, array):
        self.name, self.array = name, array

    def as_numpy(self):
        return self.array


@pytest.fixture
def backend(monkeypatch):
    """The module that Triton's Python backend gives a model: what its documentation states."""
    utils = SimpleNamespace(
        Tensor=Tensor,
        TritonError=lambda message: SimpleNamespace(message=lambda: message),
        InferenceResponse=lambda output_tensors, error=None: SimpleNamespace(
            output_tensors=lambda: output_tensors, error=lambda: error
        ),
        get_input_tensor_by_name=lambda request, name: request[name],
    )
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", utils)

    def start(folder):
        spec = importlib.util.spec_from_file_location("triton_model", folder / "1" / "model.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model = module.TritonPythonModel()
        model.initialize({"model_repository": str(folder), "model_version": "1"})
        return model

    return start


def test_a_model_with_strings_runs_in_the_python_backend(tmp_path, backend):
    model = tfport.load("examples/attention")
    result, config = written(model, tmp_path)
    assert (result.backend, result.max_batch_size) == ("python", 32)
    assert 'input [ { name: "words" data_type: TYPE_STRING dims: [ -1 ] } ]' in config
    words = np.array([[b"the", b"quick"], [b"fox", b"unknown"]], object)
    good, bad = {"words": Tensor("words", words)}, {"words": Tensor("words", words[0])}
    first, second = backend(tmp_path / "m").execute([good, bad])
    (scores,) = first.output_tensors()
    expected = tfport.Session(model).signature("serving_default")(words=words)["scores"]
    assert (scores.name, first.error()) == ("scores", None)
    assert np.array_equal(scores.as_numpy(), expected)
    assert "words" in second.error().message()
    assert (tmp_path / "m" / "environment.yml").read_text().count("tfport") == 2


def test_ops_that_only_tensorflow_lite_has_run_in_the_python_backend(tmp_path, backend):
    ngrams = {"ngram_size": 2, "max_skip_size": 0, "include_all_ngrams": False}
    text = np.array([b"a b c"], object)
    model = tfport.load(case("SKIP_GRAM", text, **ngrams).model)
    result, _ = written(model, tmp_path)
    assert result.backend == "python"
    (response,) = backend(tmp_path / "m").execute([{"in0": Tensor("in0", text)}])
    assert response.error() is None
    (answer,) = response.output_tensors()
    assert answer.as_numpy().tolist() == [b"a b", b"b c"]


def test_examples_that_affect_each_other_are_no_batch(tmp_path):
    text = """
        x = Placeholder() {dtype=float32, shape=(?, 4)}
        axes = Const() {dtype=int32, value=int32(1)[0]}
        mean = Mean(x, axes) {T=float32, Tidx=int32, keep_dims=true}
        y = Sub(x, mean) {T=float32}
    """
    result, config = written(model_of(text), tmp_path)
    assert result.max_batch_size == 0
    assert "dims: [ -1, 4 ]" in config
    assert "dynamic_batching" not in config


def test_a_model_with_state_is_no_batch_and_has_no_warm_up(tmp_path):
    result, config = written(load("module"), tmp_path)
    assert result.max_batch_size == 0
    assert "kind: KIND_CPU" in config
    assert "model_warmup" not in config


def test_outputs_whose_sizes_depend_on_the_examples_are_no_batch(tmp_path):
    options = FixOptions(signatures=("classes_only",))
    result = write_triton_model(load("classifier"), tmp_path, "m", options, PROCESS_WIDE)
    assert result.max_batch_size == 0


def test_a_batch_of_single_elements_has_one_size_for_clients(tmp_path):
    text = """
        x = Placeholder() {dtype=float32, shape=(?)}
        y = Neg(x) {T=float32}
    """
    result, config = written(model_of(text), tmp_path)
    assert result.max_batch_size == 32
    assert 'name: "x" data_type: TYPE_FP32 dims: [ 1 ] reshape: { shape: [ ] }' in config
    assert "batch_size: 1" in config


def test_a_scalar_has_one_element_for_clients(tmp_path, backend):
    text = """
        x = Placeholder() {dtype=float32, shape=()}
        y = Neg(x) {T=float32}
    """
    result, config = written(model_of(text), tmp_path)
    assert (result.backend, result.max_batch_size) == ("python", 0)
    assert "`x` is a scalar, which Triton does not support" in result.why_python
    assert 'name: "x" data_type: TYPE_FP32 dims: [ 1 ] }' in config
    (answer,) = backend(tmp_path / "m").execute([{"x": Tensor("x", np.array([2], np.float32))}])
    assert answer.output_tensors()[0].as_numpy().tolist() == [-2.0]


def test_names_can_be_changed(tmp_path):
    changes = SignatureChanges(inputs={"x": "INPUT__0"})
    assert 'name: "INPUT__0"' in written(load("half_plus_two"), tmp_path, signature_changes=changes)[1]


def test_what_triton_does_not_have_is_refused(tmp_path):
    with pytest.raises(CannotRun, match="which Triton does not have"):
        written(load("constants"), tmp_path)
    assert not (tmp_path / "m").exists()


def test_an_existing_folder_is_not_overwritten(tmp_path):
    (tmp_path / "m").mkdir()
    with pytest.raises(Error, match="already exists"):
        written(load("half_plus_two"), tmp_path)


def test_a_model_that_refuses_all_generated_inputs_is_written(tmp_path):
    """Its largest sizes have more numbers than tfport generates."""
    text = """
        x = Placeholder() {dtype=int64, shape=[-1,-1]}
        unfed = Placeholder() {dtype=int64, shape=[]}
        y = AddV2(x, unfed) {T=int64}
    """
    model = saved_with(model_of(text), FixOptions(feeds=("x:0",), fetches=("y:0",)))
    result, _ = written(model, tmp_path)
    assert result.backend in ("onnxruntime", "python")


def test_a_model_without_signatures_is_refused(tmp_path):
    model = Model("m", SAVED_MODEL, MemoryFiles("m", {}), graph("x = NoOp()"), pb.MetaGraphDef())
    with pytest.raises(Error, match="the model has no signatures; name the tensors"):
        written(model, tmp_path)


def test_a_loop_that_does_not_end_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(triton_model, "SECONDS", 0.1)
    with pytest.raises(CannotRun, match=r"the rank of `y` is not known.*: the call did not end within 0 sec"):
        written(frozen(ENDLESS["While, island"]), tmp_path, fetches=("y:0",))
