"""Every command on Keras files: what it prints, and one sentence for files that it cannot use."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.keras.files import LAYERS, MODEL, X, expected, write_h5
from tests.interrupts import interruptible
from tests.static_page.embedded import StaticPage

import tfport
from tfport.cli.main import main

ACME = {"class_name": "Acme", "config": {"name": "acme", "power": 3}}
WITH_ACME = {
    "class_name": "Sequential",
    "config": {"name": "m", "layers": [*MODEL["config"]["layers"], ACME]},
}
NO_ARCHITECTURE = (
    "has weights but no architecture; name the architecture in JSON, or save the whole model with model.save"
)
UNKNOWN_CLASS = (
    'layer `acme` is of the class `Acme`, which tfport does not know; declare it with `@tfport.layer("Acme")`'
)


@pytest.fixture
def small(tmp_path):
    return write_h5(tmp_path / "m.h5")


def printed(capsys, *words, code=0):
    assert main(list(words)) == code
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    return out


def test_inspect_shows_the_layers(capsys, small):
    report = printed(capsys, "inspect", small)
    assert report.partition("\n\nsignature")[0].partition("  made by ")[2] == (
        "   Keras 2.2.4-tf, tensorflow backend\n"
        "  optimizer  Adam, learning_rate 0.001\n"
        "  loss       categorical_crossentropy\n"
        "  metrics    accuracy\n"
        "  graph      11 nodes, 0 functions\n"
        "\n"
        "layers  Sequential model `small`, 4 layers\n"
        "  layer (class)      output shape  parameters\n"
        "  x (InputLayer)     (?, 4)                 0\n"
        "  hidden (Dense)     (?, 3)                15\n"
        "  dropout (Dropout)  (?, 3)                 0\n"
        "  scores (Dense)     (?, 2)                 8\n"
        "  parameters  23 (23 trainable, 0 non-trainable)"
    )


def test_inspect_as_json(capsys, small):
    keras = json.loads(printed_json(capsys, "inspect", small, "--json"))["keras"]
    assert keras["layers"][1] == {
        "name": "hidden",
        "class": "Dense",
        "depth": 0,
        "shapes": [[None, 3]],
        "parameters": 15,
        "trainable_parameters": 15,
        "inputs": [],
        "custom": False,
    }
    del keras["layers"]
    assert keras == {
        "layout": "h5",
        "version": "2.2.4-tf",
        "backend": "tensorflow",
        "saved_at": None,
        "class": "Sequential",
        "name": "small",
        "architecture": True,
        "weights": True,
        "parameters": 23,
        "trainable_parameters": 23,
        "custom_classes": [],
        "optimizer": {"class": "Adam", "config": {"learning_rate": 0.0010000000474974513}},
        "compiled": {"loss": ["categorical_crossentropy"], "metrics": ["accuracy"]},
        "unsafe": [],
        "stored": [],
        "no_graph": None,
    }


def printed_json(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_inspect_of_weights_lists_the_arrays(capsys, tmp_path):
    report = printed(capsys, "inspect", write_h5(tmp_path / "w.h5", config=None))
    assert (
        "weights  of 2 layers, 23 parameters; no architecture\n  hidden  float32 (4, 3), float32 (3)\n"
        in report
    )
    assert "not runnable\n" in report
    assert "signature" not in report


def test_inspect_of_an_architecture_says_that_weights_are_missing(capsys, tmp_path):
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    report = printed(capsys, "inspect", str(tmp_path / "model.json"))
    assert "layers  Sequential model `small`, 4 layers; the file has no weights\n" in report
    assert "  hidden (Dense)     (?, 3)                15\n" in report


def test_inspect_of_a_custom_class_shows_what_the_file_says(capsys, tmp_path):
    report = printed(capsys, "inspect", write_h5(tmp_path / "m.h5", config=WITH_ACME))
    assert "  acme (Acme)        ?                      0\n" in report
    assert "custom classes  that tfport does not build\n    Acme\n" in report
    assert "not runnable\n" in report


def test_classes_of_keras_are_no_custom_classes(capsys, tmp_path):
    layer = {"class_name": "DenseFeatures", "config": {"name": "r"}}
    foreign = {"class_name": "AddMetric", "module": "acme.layers", "config": {"name": "s"}}
    layers = [*MODEL["config"]["layers"], layer, foreign]
    config = {"class_name": "Sequential", "config": {"name": "m", "layers": layers}}
    path = write_h5(tmp_path / "m.h5", config=config)
    keras = json.loads(printed_json(capsys, "inspect", path, "--json"))["keras"]
    assert keras["custom_classes"] == ["AddMetric"]
    assert [row["custom"] for row in keras["layers"]] == [False] * 5 + [True]


def test_inspect_names_unsafe_content(capsys, tmp_path):
    body = {
        "class_name": "Lambda",
        "config": {"name": "odd", "function": ["4wEA", None, None], "function_type": "lambda"},
    }
    config = {
        "class_name": "Sequential",
        "config": {"name": "m", "layers": [*MODEL["config"]["layers"], body]},
    }
    report = printed(capsys, "inspect", write_h5(tmp_path / "m.h5", config=config))
    assert (
        "unsafe content  that Keras would run or open; tfport does not\n  odd  a marshalled Python function\n"
        in report
    )


def test_long_names_wrap_within_80_columns(capsys, tmp_path):
    name = "a_layer_with_a_name_that_nobody_would_want_to_type_" * 3
    layers = [MODEL["config"]["layers"][0], {**LAYERS[0], "config": {**LAYERS[0]["config"], "name": name}}]
    config = {"class_name": "Sequential", "config": {"name": name, "layers": layers}}
    arrays = {name: {"k": np.zeros((4, 3), "f4"), "b": np.zeros(3, "f4")}}
    assert name[:30] in printed(capsys, "inspect", write_h5(tmp_path / "m.h5", config=config, **arrays))


def test_run_answers(capsys, small):
    value = f"x={X.tolist()}"
    answer = json.loads(printed_json(capsys, "run", small, "--input", value, "--json"))
    assert np.allclose(answer["outputs"]["scores"]["value"], expected(X), rtol=1e-6)


def test_export_writes_onnx(capsys, small, tmp_path):
    assert main(["export", small, "-o", str(tmp_path / "m.onnx")]) == 0
    assert capsys.readouterr().out.endswith("nodes, validated\n")


def test_export_writes_a_saved_model(capsys, small, tmp_path):
    assert main(["export", small, "-o", f"{tmp_path}/saved/"]) == 0
    assert capsys.readouterr().out.endswith("SavedModel, 11 nodes; signature serving_default\n")
    session = tfport.Session(str(tmp_path / "saved"))
    assert np.allclose(session.signature("serving_default")(x=X)["scores"], expected(X), rtol=1e-6)


def test_export_writes_a_graph(capsys, small, tmp_path):
    assert main(["export", small, "-o", str(tmp_path / "m.pb")]) == 0
    assert capsys.readouterr().out.endswith("GraphDef, 11 nodes; inputs x:0; outputs scores/Softmax:0\n")


def test_export_for_a_release_leaves_a_certificate(capsys, small, tmp_path):
    words = ["export", small, "-o", str(tmp_path / "m"), "--for", "tensorflow==1.15.5"]
    assert "outputs agree on" in printed(capsys, *words)
    assert json.loads((tmp_path / "m.certificate.json").read_text())["verdict"] == "alike"


@pytest.mark.parametrize(
    ("output", "words", "why"),
    [
        (
            "m.h5",
            [],
            "expected FILE.onnx, FILE.tflite, FILE.pb, a folder name without a suffix, or FILE.safetensors, "
            "FILE.npz or weights.h5 for weights; `tfport fix` writes Keras files",
        ),
        ("m.onnx", ["--for", "tensorflow==1.15.5"], "an ONNX file is not for TensorFlow"),
    ],
)
def test_export_refuses_other_outputs(capsys, small, tmp_path, output, words, why):
    assert main(["export", small, "-o", str(tmp_path / "new" / output), *words]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_check_and_matrix_judge_the_graph(capsys, small):
    for words in (["check", small, "--on", "tfport"], ["matrix", small, "--since", "2.20"]):
        assert main(words) == 0
        assert "runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--input", "x=[[1, 2, 3, 4]]"],
        ["bench"],
        ["export", "-o", "OUT.onnx"],
        ["export", "-o", "OUT"],
        ["export", "-o", "OUT.pb"],
        ["check", "--on", "tfport"],
        ["fix", "--for", "tensorflow==1.15.5", "-o", "OUT"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(("config", "why"), [(None, NO_ARCHITECTURE), (WITH_ACME, UNKNOWN_CLASS)])
def test_a_model_without_a_graph_is_one_sentence(capsys, tmp_path, words, config, why):
    path = write_h5(tmp_path / "m.h5", config=config)
    command, *rest = [word.replace("OUT", str(tmp_path / "out")) for word in words]
    assert main([command, path, *rest]) == 2
    result = capsys.readouterr()
    assert (result.out, result.err) == ("", f"tfport: {path}: {why}\n")
    assert [file.name for file in tmp_path.iterdir()] == ["m.h5"]


STALLED = """
import sys, time
from tfport.cli.main import main

event, path, *words = sys.argv[1:]

def stall(name, arguments):
    if name == event and str(arguments[1 if name == "os.rename" else 0]).endswith(path):
        print("ready", flush=True)
        time.sleep(60)

sys.addaudithook(stall)
sys.exit(main(words))
"""
"""A command that waits where it opens its model, or where it renames its output, which is then complete."""


@pytest.mark.parametrize(
    ("event", "path", "words"),
    [
        ("open", "m.h5", ["inspect", "m.h5"]),
        ("open", "m.h5", ["check", "m.h5", "--on", "keras==3.15.1"]),
        ("open", "m.h5", ["matrix", "m.h5", "--html", "out.html"]),
        ("os.rename", "out.html", ["matrix", "m.h5", "--html", "out.html"]),
        ("os.rename", "out.keras", ["fix", "m.h5", "--for", "keras==3.15.1", "-o", "out.keras"]),
    ],
)
def test_an_interrupted_command_prints_one_line_and_leaves_nothing(tmp_path, event, path, words):
    write_h5(tmp_path / "m.h5")
    process = subprocess.Popen(
        [sys.executable, "-c", STALLED, event, path, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "tfport: interrupted\n")
    assert [file.name for file in tmp_path.iterdir()] == ["m.h5"]


def test_sarif_has_the_layer_and_the_file(capsys):
    path = "tests/check/keras/files/removed_argument.h5"
    assert main(["check", path, "--on", "keras==3.15.1", "--format", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("TFP702", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "TFP702"
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == path
    assert [part["name"] for part in place["logicalLocations"]] == ["l"]
    assert result["properties"]["target"] == "keras==3.15.1"


def test_the_page_of_a_matrix_has_every_keras_and_the_reasons(tmp_path):
    page = tmp_path / "out.html"
    path = "tests/check/keras/files/removed_argument.h5"
    assert main(["matrix", path, "--html", str(page)]) == 0
    documents = StaticPage(page.read_text()).documents
    packages = [strip["package"] for strip in documents["matrix"]["strips"]]
    assert list(dict.fromkeys(packages)) == ["keras", "tf-keras", "tensorflow", "keras-core"]
    details = documents["matrix"]["details"]
    assert "TFP702" in {detail["code"] for detail in details}
    assert any("time_major" in detail["finding"]["message"] for detail in details)
    assert documents["model"]["name"] == Path(path).name


def test_inputs_and_outputs_come_in_the_order_of_the_model(tmp_path):
    inputs = [
        {"class_name": "InputLayer", "name": name, "inbound_nodes": [],
         "config": {"name": name, "batch_input_shape": [None, 2], "dtype": "float32"}}
        for name in ("right", "left")
    ]  # fmt: skip
    layers = [
        {
            "class_name": kind,
            "name": name,
            "config": {"name": name},
            "inbound_nodes": [[[of, 0, 0, {}] for of in ("left", "right")]],
        }
        for kind, name in (("Subtract", "minus"), ("Add", "both"))
    ]
    config = {
        "name": "m", "layers": [*inputs, *layers],
        "input_layers": [["right", 0, 0], ["left", 0, 0]], "output_layers": [["minus", 0, 0], ["both", 0, 0]],
    }  # fmt: skip
    model = tfport.load(write_h5(tmp_path / "m.h5", {"class_name": "Functional", "config": config}, minus={}))
    signature = model.signatures["serving_default"]
    assert (list(signature.inputs), list(signature.outputs)) == (["right", "left"], ["minus", "both"])
