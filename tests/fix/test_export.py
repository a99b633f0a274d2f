"""Models exported as SavedModels and GraphDefs answer like the original."""

import json

import numpy as np
import pytest
from tests.frontends.keras.files import X, expected, write_h5
from tests.frontends.lite.cases import case, out, q
from tests.frontends.lite.ops.custom.test_detection import CASES as DETECTIONS
from tests.recorded_models import load

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import CannotRun
from tfport.fix.export import export_for, export_model
from tfport.fix.options import FixOptions
from tfport.fix.structure import large_constants
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.saved_model.signature import SAVED_MODEL


@pytest.fixture
def few_bytes(monkeypatch):
    """Every constant is large."""
    monkeypatch.setattr(large_constants, "LARGE", 1)
    monkeypatch.setattr(large_constants, "MOST_BYTES", 1)


def exported(model, path, **options):
    export_model(model, path, as_graph=str(path).endswith(".pb"), options=FixOptions(**options))
    return tfport.load(str(path))


def assert_scores(model):
    assert np.allclose(
        tfport.Session(model).signature("serving_default")(x=X)["scores"], expected(X), rtol=1e-6
    )


def test_a_keras_model_becomes_a_saved_model(tmp_path):
    written = exported(tfport.load(write_h5(tmp_path / "m.h5")), tmp_path / "m")
    assert (written.format, written.tags) == (SAVED_MODEL, ("serve",))
    signature = written.signatures["serving_default"]
    assert (list(signature.inputs), list(signature.outputs)) == (["x"], ["scores"])
    assert signature.method == "tensorflow/serving/predict"
    assert written.checkpoint is None
    assert_scores(written)


def test_the_folder_of_a_keras_file_is_not_copied(tmp_path):
    for name in ("variables", "assets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "private").write_text("")
    exported(tfport.load(write_h5(tmp_path / "m.h5")), tmp_path / "m")
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["saved_model.pb"]


def test_large_weights_become_variables_with_a_checkpoint(tmp_path, few_bytes):
    written = exported(tfport.load(write_h5(tmp_path / "m.h5")), tmp_path / "m")
    assert written.checkpoint is not None
    assert sorted(written.checkpoint.names()) == [
        "hidden/bias",
        "hidden/kernel",
        "scores/bias",
        "scores/kernel",
    ]
    assert not any(node.op == "Const" and node.name in written.checkpoint.names() for node in written.graph)
    assert_scores(written)


def test_large_constants_of_a_certified_model_become_variables(tmp_path, few_bytes):
    model = tfport.load(write_h5(tmp_path / "m.h5"))
    (target,) = resolve_targets("tensorflow==1.15.5")
    fixed = export_for(model, target, as_graph=False, options=FixOptions())
    fixed.save(tmp_path / "m")
    written = tfport.load(str(tmp_path / "m"))
    assert written.checkpoint is not None
    assert_scores(written)
    assert json.loads((tmp_path / "m.certificate.json").read_text())["target"] == "tensorflow==1.15.5"


def test_a_keras_model_becomes_a_graph(tmp_path):
    written = exported(tfport.load(write_h5(tmp_path / "m.h5")), tmp_path / "m.pb")
    assert written.format is GRAPH_DEF
    assert np.allclose(
        tfport.Session(written).run(["scores/Softmax:0"], {"x:0": X})[0], expected(X), rtol=1e-6
    )


def test_a_frozen_graph_gets_a_signature(tmp_path):
    written = exported(load("frozen"), tmp_path / "m")
    assert list(written.signatures) == ["serving_default"]
    (name,) = written.signatures["serving_default"].inputs
    assert name == "x"


def test_a_frozen_graph_gets_a_signature_for_what_is_fetched(tmp_path):
    written = exported(load("frozen"), tmp_path / "m", fetches=("x:0",))
    assert list(written.signatures["serving_default"].outputs) == ["x"]


def test_variables_become_constants_in_a_graph(tmp_path):
    model = load("keras_sequential")
    written = exported(model, tmp_path / "m.pb")
    assert not any(node.op in ("VarHandleOp", "VariableV2") for node in written.graph)


def test_the_checkpoint_of_a_metagraph_comes_along(tmp_path):
    written = exported(load("ref_variables"), tmp_path / "m")
    assert written.checkpoint is not None
    assert sorted(written.checkpoint.names()) == sorted(load("ref_variables").checkpoint.names())


def test_one_signature_can_be_chosen(tmp_path):
    written = exported(load("keras_lstm"), tmp_path / "m", signatures=("serve",))
    assert list(written.signatures) == ["serve"]
    with pytest.raises(tfport.Error, match=r"no signature `other`; signatures: serve, serving_default$"):
        exported(load("keras_lstm"), tmp_path / "n", signatures=("other",))


def test_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(tfport.Error, match="a checkpoint has no graph to export"):
        exported(load("checkpoint_of_objects"), tmp_path / "m")


def test_weights_without_an_architecture_are_refused(tmp_path):
    model = tfport.load(write_h5(tmp_path / "m.h5", config=None))
    with pytest.raises(tfport.Error, match="has weights but no architecture"):
        exported(model, tmp_path / "m")


def test_ops_that_only_tensorflow_lite_has_are_no_saved_model(tmp_path):
    model = tfport.load(
        case("LOGISTIC", q(np.zeros(2, np.int8), 0.5), outputs=[out("INT8", 1 / 256, -128)]).model
    )
    with pytest.raises(CannotRun) as error:
        exported(model, tmp_path / "m")
    assert str(error.value).startswith(
        f"{model.where}: TensorFlow has no op for 3 nodes of this TensorFlow Lite"
    )
    assert "FILE.onnx, FILE.tflite and --format triton can hold it" in str(error.value)
    assert not (tmp_path / "m").exists()


def test_an_op_of_tensorflow_lite_that_graphs_may_name_is_no_saved_model(tmp_path):
    name = "TFLite_Detection_PostProcess"
    recorded = next(c for c in DETECTIONS if any(node.op == name for node in tfport.load(c.model).graph))
    with pytest.raises(CannotRun, match=rf"TensorFlow has no op for 1 node .*\({name}\)"):
        exported(tfport.load(recorded.model), tmp_path / "m")
    assert not (tmp_path / "m").exists()
