"""The options of `tfport export -o FILE.onnx`."""

import json

import numpy as np
import onnxruntime as ort
import pytest
from tests.recorded_models import graph, path_of

import tfport
from tfport.cli.main import main
from tfport.formats.proto import onnx_pb2 as pb
from tfport.graph.build import graph_to_def
from tfport.runtime.program import ONNX_TYPES


def read(path):
    return pb.ModelProto.FromString(path.read_bytes())


def test_the_opset_the_names_and_what_the_file_came_from_are_in_it(tmp_path, capsys):
    path = tmp_path / "m.onnx"
    assert main(["export", path_of("keras_sequential"), "-o", str(path), "--opset", "15", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opset"] == 15
    model = read(path)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert [entry.version for entry in model.opset_import] == [15]
    assert (model.producer_name, model.graph.name) == ("tfport", "serving_default")
    assert facts["signature"] == "serving_default"
    assert facts["method"] == "tensorflow/serving/predict"
    assert facts["tensorflow_version"][0] == "2"


@pytest.mark.parametrize("options", [["--opset", "12"], ["--opset", "99"]])
def test_opsets_that_onnx_runtime_lacks_are_refused(options, tmp_path, capsys):
    assert main(["export", path_of("keras_sequential"), "-o", str(tmp_path / "m.onnx"), *options]) == 2
    assert f"--opset {options[1]}: expected 13 to " in capsys.readouterr().err


def test_options_of_onnx_are_refused_elsewhere(tmp_path, capsys):
    assert main(["export", path_of("keras_sequential"), "-o", str(tmp_path / "m"), "--opset", "15"]) == 2
    assert "m: --opset is for FILE.onnx and --split, not for a SavedModel" in capsys.readouterr().err
    assert main(["export", path_of("keras_lstm"), "-o", str(tmp_path / "m.onnx"), "--weights", "int8"]) == 2
    assert "--weights int8 is for FILE.tflite; an ONNX file has float16" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_weights_lie_in_a_file_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tfport.runtime.onnx.model.SMALL", 4)
    path = tmp_path / "m.onnx"
    assert main(["export", path_of("keras_sequential"), "-o", str(path), "--external-data"]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    (entry,) = ort.InferenceSession(str(path)).get_inputs()
    assert ort.InferenceSession(str(path)).run(None, {entry.name: np.ones((2, *entry.shape[1:]), np.float32)})


def test_the_loss_of_float16_weights_is_certified(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tfport.runtime.export.LEAST_WEIGHTS", 4)
    path, model = tmp_path / "m.onnx", path_of("keras_sequential")
    assert main(["export", model, "-o", str(path), "--weights", "float16"]) == 0
    assert "validated; outputs agree on" in capsys.readouterr().out
    certificate = json.loads((tmp_path / "m.onnx.certificate.json").read_text())
    assert certificate["verdict"] == "alike"
    assert "onnxruntime" in certificate["target"]
    assert {tensor.data_type for tensor in read(path).graph.initializer} == {ONNX_TYPES["float16"]}


def test_a_loss_beyond_the_tolerance_is_not_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tfport.runtime.export.LEAST_WEIGHTS", 4)
    command = ["export", path_of("keras_sequential"), "-o", str(tmp_path / "m.onnx"), "--weights", "float16"]
    assert main([*command, "--tolerance", "1e-9"]) == 1
    assert "not written: outputs differ" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_sizes_are_fixed(tmp_path):
    path = tmp_path / "m.onnx"
    assert main(["export", path_of("keras_sequential"), "-o", str(path), "--batch", "3"]) == 0
    assert read(path).graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3
    assert read(path).graph.output[0].type.tensor_type.shape.dim[0].dim_value == 3


def test_variables_that_change_become_inputs_and_outputs(tmp_path, capsys):
    path, command = tmp_path / "m.onnx", ["export", path_of("module"), "-o"]
    assert main([*command, str(path)]) == 2
    assert "--state-as-inputs makes its variables inputs and outputs" in capsys.readouterr().err
    assert main([*command, str(path), "--state-as-inputs"]) == 0
    session = ort.InferenceSession(str(path))
    (state,) = session.get_overridable_initializers()
    names = [info.name for info in session.get_outputs()]
    feeds = {i.name: np.ones([n or 2 for n in map(size, i.shape)], np.float32) for i in session.get_inputs()}
    model = tfport.Session(tfport.load(path_of("module")))
    kept: dict = {}
    for _ in range(3):
        answers = dict(zip(names, session.run(names, {**feeds, **kept}), strict=True))
        kept = {state.name: answers.pop(f"{state.name}_next")}
        expected = model.signature("serving_default")(**feeds)
        assert {k: v.tolist() for k, v in answers.items()} == {k: v.tolist() for k, v in expected.items()}


def size(number):
    return number if isinstance(number, int) else None


@pytest.mark.parametrize("axis", [0, 1])
def test_a_rate_of_dropout_without_a_rank_is_a_scalar(axis, tmp_path):
    """Old graphs have placeholders of unknown rank, and nodes after them need one.

    If the examples are along axis 1, generated inputs do not fit each other.
    """
    text = f"""
        x = Placeholder() {{dtype=float32, shape=(?, ?, 4)}}
        lengths = Placeholder() {{dtype=int32, shape=(?,)}}
        keep = Placeholder() {{dtype=float32}}
        unit = Const() {{dtype=float32, value=float32()[1]}}
        rate = Sub(unit, keep) {{T=float32}}
        size = Shape(x) {{T=float32, out_type=int32}}
        random = RandomUniform(size) {{dtype=float32, T=int32, seed=0, seed2=0}}
        kept = GreaterEqual(random, rate) {{T=float32}}
        mask = Cast(kept) {{SrcT=bool, DstT=float32}}
        dropped = Mul(x, mask) {{T=float32}}
        y = ReverseSequence(dropped, lengths) {{seq_dim={1 - axis}, batch_dim={axis}, Tlen=int32, T=float32}}
    """
    model = tmp_path / "graph.pb"
    model.write_bytes(graph_to_def(graph(text)).SerializeToString())
    assert main(["export", str(model), "-o", str(tmp_path / "m.onnx")]) == 0
    session = ort.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    feeds = {"x": x.swapaxes(0, axis), "lengths": np.int32([2, 3]), "keep": np.array(1, np.float32)}
    y = session.run(None, feeds)[0].swapaxes(0, axis)
    np.testing.assert_array_equal(y[0], x[0][[1, 0, 2]])
    np.testing.assert_array_equal(y[1], x[1][::-1])


def test_sums_of_int32_wrap_in_onnx_runtime(tmp_path):
    text = (
        "x = Placeholder() {dtype=int32, shape=(3)}\n"
        "a = Const() {dtype=int32, value=int32(1)[0]}\n"
        "y = Sum(x, a) {T=int32, Tidx=int32, keep_dims=false}"
    )
    (tmp_path / "m.pb").write_bytes(graph_to_def(graph(text)).SerializeToString())
    assert main(["export", str(tmp_path / "m.pb"), "-o", str(tmp_path / "m.onnx")]) == 0
    (y,) = ort.InferenceSession(str(tmp_path / "m.onnx")).run(
        None, {"x": np.array([2**31 - 1] * 3, np.int32)}
    )
    assert y == 2**31 - 3
