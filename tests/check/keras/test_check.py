"""`check` and `matrix` of Keras files: verdicts, stages, notes and errors."""

import json
from pathlib import Path

import pytest
from tests.frontends.keras.files import write_h5
from tests.frontends.keras.recorded_models import recorded

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check import verdict_of
from tfport.check.keras.check_keras_file import keras_findings
from tfport.check.keras.custom import custom_objects
from tfport.cli.main import main
from tfport.errors import Error
from tfport.formats.keras.records import KerasFile
from tfport.matrix.matrix import matrix_of

FILES = "tests/check/keras/files"
GRAPH = b"\x0a\x0a\x0a\x02no\x12\x04NoOp"  # a GraphDef of one node


def layer(class_name, **config):
    return {"class_name": class_name, "config": config}


def sequential(*layers):
    return layer("Sequential", name="m", layers=list(layers))


CASES = [  # file, target, verdict, stage, codes
    ("removed_class.h5", "keras==3.15.1", "fails", "load", ["TFP701"]),
    ("removed_class.h5", "tensorflow==2.8.4", "fails", "run", ["TFP732"]),
    ("string_lookup.h5", "keras==3.15.1", "unknown", None, ["TFP731"]),
    ("string_lookup.h5", "tensorflow==2.21.0 keras==3.15.1", "runs", None, []),
    ("removed_argument.h5", "keras==3.15.1", "fails", "load", ["TFP702"]),
    ("removed_argument.h5", "tf-keras==2.16", "runs", None, []),
    ("keras_1_dense.h5", "keras==2.2.4", "runs", None, []),
    ("keras_1_dense.h5", "keras==1.2.2", "fails", "load", ["TFP707"]),
    ("list_of_layers.h5", "keras==3.15.1", "fails", "load", ["TFP707"]),
    ("list_of_layers.h5", "tensorflow==2.2.3", "fails", "load", ["TFP707"]),
    ("list_of_layers.h5", "tensorflow==2.3.4", "runs", None, []),
    ("hard_sigmoid.h5", "keras==3.15.1", "fails", "run", ["TFP740"]),
    ("hard_sigmoid.h5", "tensorflow==2.15.1", "runs", None, []),
    ("shape_in_first_layer.h5", "keras==3.15.1", "fails", "run", ["TFP711"]),
    ("old_gru.h5", "tensorflow==1.15.5", "runs", None, []),
    ("old_optimizer.h5", "keras==3.15.1", "runs", None, ["TFP709"]),
    ("old_optimizer.h5", "keras==3.0.5", "fails", "load", ["TFP702", "TFP704"]),
    ("old_optimizer.h5", "tensorflow==2.8.4", "runs", None, ["TFP709"]),
    ("old_optimizer.h5", "keras==1.0.6", "fails", "load", ["TFP706"]),
    ("mask_by_keyword.h5", "keras==3.15.1", "fails", "run", ["TFP707"]),
    ("mask_by_keyword.h5", "keras==3.9.2", "runs", None, []),
    ("lambda_layer.h5", "keras==3.15.1", "fails", "load", ["TFP720"]),
    ("lambda_layer.h5", "keras==3.11.2", "unknown", None, ["TFP721"]),
    ("nested_model.h5", "keras==3.5.0", "fails", "load", ["TFP741"]),
    ("nested_model.h5", "keras==3.15.1", "fails", "load", ["TFP707"]),
    ("lambda_layer.h5", "tensorflow==2.8.4", "unknown", None, ["TFP721"]),
    ("backend_layer.h5", "keras==3.15.1", "fails", "load", ["TFP701", "TFP730"]),
    ("only_weights.h5", "tensorflow==2.8.4", "fails", "load", ["TFP706"]),
    ("moved_module.json", "keras==3.15.1", "fails", "load", ["TFP705"]),
]


def test_an_operation_with_the_name_of_a_layer_is_found(tmp_path):
    """`Add` is a layer and an operation of Keras 3, in different modules."""
    (model,) = (m for m in recorded("operators", "keras-3.15.1", ("keras",)) if m.case == "op_arithmetic")
    assert tfport.check(str(model.write(tmp_path)), on="keras==3.15.1").verdict == "runs"


@pytest.mark.parametrize(("file", "target", "verdict", "stage", "codes"), CASES)
def test_the_verdict_is_that_of_the_keras_of_the_target(file, target, verdict, stage, codes):
    (result,) = tfport.check(f"{FILES}/{file}", on=target).results
    assert (result.verdict, result.stage, result.loaders) == (verdict, stage, ("keras",))
    assert list(dict.fromkeys(f.code for f in result.findings)) == codes


def test_the_text_of_the_loader_is_in_the_report():
    report = tfport.check(f"{FILES}/removed_argument.h5", on="keras==3.15.1")
    (finding,) = report.findings
    assert finding.tensorflow_says == (
        "ValueError: Unrecognized keyword arguments passed to LSTM: {'time_major': False}"
    )
    assert "LSTM takes `time_major` in" in finding.cause()
    assert report.to_json()["producer"]["keras"] == "2.4.0"


def test_what_the_default_of_load_model_does_not_compile_is_one_warning():
    (finding,) = tfport.check(f"{FILES}/old_optimizer.h5", on="keras==3.15.1").findings
    assert finding.message.startswith(
        "keras 3.15.1 loads the model only with `compile=False`: it does not accept `lr` of the optimizer "
        "Adam, the loss `mse`"
    )
    assert finding.tensorflow_says == "ValueError: Argument(s) not recognized: {'lr': 0.001}"
    (finding,) = tfport.check(f"{FILES}/old_optimizer.h5", on="tf-keras==2.16").findings
    assert finding.message.endswith("it does not accept the metric `my_metric`")
    assert finding.tensorflow_says.startswith(
        "ValueError: Unknown metric function: 'my_metric'. Please ensure"
    )


def test_the_nearest_releases_that_load_a_file_are_advised():
    report = tfport.check(f"{FILES}/removed_argument.h5", on="keras==3.0.5")
    (finding,) = report.findings
    assert any("use keras==2.15.0" in way for way in finding.ways_out)


def test_the_implied_keras_and_h5py_are_noted():
    (result,) = tfport.check(f"{FILES}/hard_sigmoid.h5", on="tensorflow==2.4.4").results
    assert result.target.notes == [
        "tensorflow 2.4.4 loads Keras files with the Keras of tensorflow 2.4.4",
        "tensorflow 2.4.4 needs h5py before 3: with h5py 3 every file fails "
        "(`'str' object has no attribute 'decode'`)",
    ]


def test_a_keras_target_refuses_other_models_and_loaders():
    with pytest.raises(
        Error, match=r"keras 3.15.1 loads Keras files, and .* is a GraphDef; name a TensorFlow"
    ):
        tfport.check(GRAPH, on="keras==3.15.1")
    with pytest.raises(Error, match=r"one loader, `keras`; `serving` is one of TensorFlow"):
        tfport.check(f"{FILES}/hard_sigmoid.h5", on="keras==3.15.1", loader="serving")


@pytest.mark.parametrize(
    ("file", "name", "other"),
    [
        ("small.h5", "Keras HDF5 model", "keras==2.4.3"),
        (GRAPH, "GraphDef", "tensorflow==2.15.1"),
        ("tests/models/first_checkpoint_format", "MetaGraph", "tensorflow==2.15.1"),
    ],
)
def test_serving_loads_only_saved_models(tmp_path, file, name, other):
    """As TensorFlow 2.21's `TF_LoadSessionFromSavedModel`: "Could not find SavedModel .pb or .pbtxt …"."""
    path, serving = write_h5(tmp_path / file) if file == "small.h5" else file, "tensorflow-serving==2.15"
    refused = rf"loads SavedModels, and .* is a {name}; `tfport export .* -o OUT --for"
    for refuses in (tfport.check, tfport.fix) if file == GRAPH else (tfport.check,):
        with pytest.raises(Error, match=refused):
            refuses(path, on=serving)
    report = tfport.check(path, on=[serving, other])
    assert [(r.verdict, r.stage) for r in report.results] == [("fails", "load"), ("runs", None)]
    assert [f.code for f in report.results[0].findings] == ["TFP004"]
    assert tfport.check(path, on=serving, loader="serving").verdict == "runs"


def test_a_message_is_explained_with_the_graph_that_serving_loaded_from_a_saved_model():
    message = "Op type not registered 'AddV2' in binary running on x"
    assert "registers AddV2" in str(tfport.explain(message, model=GRAPH, on="tensorflow-serving==2.15"))


def test_a_message_about_the_whole_file_begins_with_the_release():
    (finding, *_) = tfport.check(f"{FILES}/list_of_layers.h5", on="keras==3.15.1").findings
    assert finding.message.startswith("keras 3.15.1 does not read this form of configuration: ")


@pytest.mark.parametrize(
    ("target", "verdict", "words"),
    [
        ("keras==3.15.1", "fails", "File format not supported: filepath=MODEL. Keras 3 only supports V3"),
        ("keras==2.15.0", "runs", "`tf.keras.models.load_model` of tensorflow 2.15.1"),
        ("tf-keras==2.16.0", "runs", "`tf_keras.models.load_model` of tensorflow 2.16.2"),
        ("keras==2.2.4", "fails", "Is a directory"),
    ],
)
def test_a_saved_model_is_loaded_by_keras_2(target, verdict, words):
    report = tfport.check("tests/models/keras_sequential", on=target)
    (result,) = report.results
    assert (result.verdict, result.loaders) == (verdict, ("keras",))
    assert words in " ".join([*result.target.notes, *(f.tensorflow_says or "" for f in result.findings)])


def test_the_ways_to_use_a_saved_model_with_keras_3_are_said():
    (finding,) = tfport.check("tests/models/keras_sequential", on="keras==3.15.1").findings
    ways = "\n".join(finding.fixes())
    assert 'for inference: keras.layers.TFSMLayer(path, call_endpoint="serving_default")' in ways
    assert "tf_keras.models.load_model(path)" in ways
    assert "tfport fix MODEL --for keras==3.15.1 -o model.keras" in ways


CUSTOM = """
class Scale(keras.layers.Layer):
    def __init__(self, by=1.0, **more):
        super().__init__(**more)

def my_activation(x):
    return x
"""


def test_classes_that_the_program_registers_are_known(tmp_path):
    source = tmp_path / "layers.py"
    source.write_text(CUSTOM)
    path = f"{FILES}/custom_activation.h5"
    assert tfport.check(path, on="keras==3.15.1").verdict == "fails"
    assert tfport.check(path, on="keras==3.15.1", custom=["my_activation"]).verdict == "runs"
    assert tfport.check(path, on="tensorflow==2.8.4", custom=[f"my_activation={source}"]).verdict == "runs"
    with pytest.raises(
        Error, match=r"layers.py: no class or function `other`; it defines Scale, my_activation"
    ):
        tfport.check(path, on="keras==3.15.1", custom=[f"other={source}"])
    with pytest.raises(
        Error, match=r"--custom a.b: expected the name of a class or function, or NAME=FILE.py"
    ):
        tfport.check(path, on="keras==3.15.1", custom=["a.b"])


def test_the_arguments_of_a_class_are_read_from_its_source(tmp_path):
    source = tmp_path / "layers.py"
    source.write_text(CUSTOM)
    for options, verdict in [({"by": 2.0}, "runs"), ({"factor": 2.0}, "fails")]:
        file = KerasFile("m.h5", "h5", sequential(layer("Scale", name="s", **options)), None, "2.4.0")
        findings = keras_findings(
            file, *resolve_targets("tensorflow==2.8.4"), custom_objects([f"Scale={source}"])
        )
        assert verdict_of(findings)[0] == verdict


def test_the_matrix_covers_every_package_with_a_keras():
    matrix = matrix_of(tfport.load(f"{FILES}/removed_argument.h5"))
    assert [strip.package for strip in matrix.strips] == ["keras", "tf-keras", "tensorflow", "keras-core"]
    verdicts = {cell.release: cell.verdict for cell in matrix.strips[0].cells}
    assert verdicts["3.15.1"] == "fails"
    assert verdicts["2.15.0"] == verdicts["2.4.3"] == "runs"
    text = str(matrix)
    assert "LSTM.time_major" in text
    assert text.index("\nkeras\n") < text.index("\ntf-keras\n") < text.index("\ntensorflow\n")


@pytest.mark.parametrize(
    ("target", "code"), [("keras==3.15.1", 1), ("tensorflow==2.8.4", 0), ("keras==9", 2)]
)
def test_the_command_exits_with_the_verdict(target, code, capsys):
    assert main(["check", f"{FILES}/removed_argument.h5", "--on", target, "--json"]) == code
    if code < 2:
        (result,) = json.loads(capsys.readouterr().out)["results"]
        assert result["loaders"] == ["keras"]


def test_the_files_are_those_that_the_script_writes(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    from tests.check.keras import make_files

    monkeypatch.setattr(make_files, "FOLDER", tmp_path)
    make_files.main()
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in Path(FILES).iterdir()}
    assert (tmp_path / "moved_module.json").read_text() == Path(FILES, "moved_module.json").read_text()
