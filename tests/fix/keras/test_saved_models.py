"""Keras SavedModels of real releases become Keras files; an architecture and weights become a model."""

import json
import re
import shutil
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.truth_models import TRUTH, model_folder

import tfport
from tfport.cli.main import main
from tfport.formats.keras.records import StoredWeight, TrackedObject
from tfport.frontends.keras.saved_model import with_input_sizes

KERAS_3, KERAS_2 = "keras==3.15.1", "tensorflow==2.15.1"
APART = Path(__file__).with_name("separate_weights")
CUSTOM = re.compile(r"is a Lambda|of the class `")
RECORD = TRUTH / "keras_saved_models.json"


def saved(name):
    return model_folder(f"tests/truth/keras/{name}")


def fixed(path, target=KERAS_3, **options):
    output = "model.keras" if target == KERAS_3 else "model.h5"
    return tfport.fix(path, on=target, output=output, **options)


@pytest.mark.parametrize(
    "name",
    ["functional_adam-1.15.5", "functional_adam-2.0.4", "functional_adam-2.3.4", "embedding-2.6.5",
     "two_inputs-2.8.4", "operators-2.11.1", "string_lookup-2.13.1"],
)  # fmt: skip
@pytest.mark.parametrize("target", [KERAS_3, KERAS_2])
def test_a_saved_model_of_a_real_release_becomes_a_file_with_the_same_answers(name, target):
    result = fixed(saved(name), target)
    assert result.ok, result.remaining
    assert result.source.format.key == "saved_model"  # what the file was compared with is the graph


def test_the_file_has_the_layers_and_weights_of_the_saved_model(tmp_path):
    path = tmp_path / "model.keras"
    result = fixed(saved("functional_adam-2.3.4"))
    result.save(path)
    with zipfile.ZipFile(path) as archive:
        layers = json.loads(archive.read("config.json"))["config"]["layers"]
        archive.extract("model.weights.h5", tmp_path)
    assert layers[0]["class_name"] == "InputLayer"
    with h5py.File(tmp_path / "model.weights.h5") as weights:
        assert weights["layers/dense/vars/0"].shape[0] == 3
    assert any(rule["name"] == "new optimizer" for rule in result.to_json()["rules"])


def test_the_certificate_of_a_saved_model_can_be_verified(tmp_path):
    path = tmp_path / "model.keras"
    fixed(saved("functional_adam-2.3.4")).save(path)
    assert tfport.verify_certificate(f"{path}.certificate.json").ok


def test_a_vocabulary_that_was_learned_is_in_the_file(tmp_path):
    path = tmp_path / "model.keras"
    fixed(saved("string_lookup-2.6.5")).save(path)
    with zipfile.ZipFile(path) as archive:
        layers = json.loads(archive.read("config.json"))["config"]["layers"]
    lookup = next(layer for layer in layers if layer["class_name"] == "StringLookup")
    assert "fry" in lookup["config"]["vocabulary"]


@pytest.mark.parametrize("functional", [False, True])
def test_an_input_has_the_size_that_normalization_learned(functional):
    first = {"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [None, None]}}
    layer = {"class_name": "Normalization", "config": {"name": "n", "axis": [-1], "mean": None}}
    if functional:
        layer |= {"inbound_nodes": [[["x", 0, 0, {}]]]}
    mean = StoredWeight("mean", "float32", (12,), lambda: np.zeros(12, "f4"))
    tracked = TrackedObject(
        children={"layer-0": TrackedObject("n", children={"mean": TrackedObject(weight=mean)})}
    )
    layers = [layer, first] if functional else [first, layer]
    stored = {"class_name": "m", "config": {"layers": layers}}
    found = with_input_sizes(stored, tracked)["config"]["layers"]
    assert found[layers.index(first)]["config"]["batch_input_shape"] == [None, 12]
    layer["config"]["axis"] = [1]
    assert with_input_sizes(stored, tracked) == stored


def test_without_a_signature_the_layers_are_compared_and_the_certificate_says_so():
    result = fixed(saved("functional_without_traces-2.8.4"))
    assert result.ok
    assert any(rule["name"] == "without a signature" for rule in result.to_json()["rules"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "custom_layer-2.6.5",
            "its weight `doubling/factor` is used by Mul, which is no layer; `--as-graph`",
        ),
        ("module-2.0.4", "without the configuration of a Keras model.*; `--as-graph` writes the graph"),
    ],
)
def test_what_is_only_in_the_graph_is_refused_with_the_reason(name, why):
    with pytest.raises(tfport.Error, match=why):
        fixed(saved(name))


# An architecture and weights


def recorded_answers(name):
    with np.load(APART / f"{name}.npz") as arrays:
        return arrays["in0"], arrays["out0"]


@pytest.mark.parametrize("name", ["sequential-1.15.5", "sequential-2.8.4", "nested_functional-2.8.4"])
def test_an_architecture_takes_the_weights_of_a_checkpoint(name):
    x, expected = recorded_answers(name)
    model = tfport.load(APART / f"{name}.json", weights=APART / f"{name}.ckpt")
    model.require_graph()
    signature = tfport.Session(model).signature("serving_default")
    (answer,) = signature(**{next(iter(model.signatures["serving_default"].inputs)): x}).values()
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


def test_an_architecture_takes_the_weights_of_a_saved_model(tmp_path):
    source = saved("functional_adam-2.3.4")
    whole = tmp_path / "model.keras"
    fixed(source).save(whole)
    model = tfport.load(whole, weights=source)
    x = np.asarray([[0.5, -1.0, 2.0]], "f4")
    answers = [
        next(iter(tfport.Session(one).signature("serving_default")(**{inputs: x}).values()))
        for one in (model, tfport.load(source))
        for inputs in one.signatures["serving_default"].inputs
    ]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6)


@pytest.mark.parametrize("suffix", [".json", ".keras"])
def test_the_certificate_of_weights_saved_apart_can_be_verified(tmp_path, suffix, capsys):
    for file in APART.glob("sequential-2.8.4*"):
        shutil.copy(file, tmp_path)
    architecture, weights = tmp_path / f"sequential-2.8.4{suffix}", tmp_path / "sequential-2.8.4.ckpt"
    if suffix == ".keras":
        whole = tfport.load(architecture.with_suffix(".json"), weights=weights)
        tfport.fix(whole, on=KERAS_3, output=architecture).save(architecture)
    out = tmp_path / "whole.keras"
    for_it = ["--for", KERAS_3, "-o", str(out)]
    assert main(["fix", str(architecture), "--weights", str(weights), *for_it]) == 0
    certificate = f"{out}.certificate.json"
    recorded = json.loads(Path(certificate).read_text())["input"]["weights"]
    assert (recorded["path"], len(recorded["files"])) == (str(weights), 2)
    assert main(["fix", "--verify", certificate]) == 0
    for file in tmp_path.glob("*.ckpt.*"):
        file.rename(file.with_name(file.name.replace("sequential-2.8.4", "moved")))
    assert main(["fix", "--verify", certificate]) == 2
    assert "--weights FILE" in capsys.readouterr().err
    moved = ["--weights", str(tmp_path / "moved.ckpt")]
    assert main(["fix", "--verify", certificate, *moved]) == 0
    data = tmp_path / "moved.ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-1] + b"!")
    assert main(["fix", "--verify", certificate, *moved]) == 1


def test_weights_of_another_architecture_are_refused():
    model = tfport.load(APART / "sequential-2.8.4.json", weights=APART / "nested_functional-2.8.4.ckpt")
    assert model.no_graph


YAML = """backend: tensorflow
class_name: Sequential
config:
  layers:
  - class_name: Dense
    config:
      batch_input_shape: {tag}
      - null
      - 3
      name: dense
      units: 4
  name: sequential
keras_version: 2.4.0
"""


def test_an_architecture_can_be_yaml(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(YAML.format(tag="!!python/tuple"))
    model = tfport.load(path)
    assert model.keras.config["config"]["layers"][0]["config"]["batch_input_shape"] == [None, 3]


def test_yaml_creates_no_objects(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(YAML.format(tag="!!python/object/apply:os.system"))
    with pytest.raises(tfport.UnreadableFile, match="could not determine a constructor"):
        tfport.load(path)


def test_yaml_that_grows_without_end_is_refused(tmp_path):
    levels = "".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    path = tmp_path / "model.yaml"
    path.write_text(f"class_name: Model\nconfig:\n  a0: &a0 [x]\n{levels}")
    with pytest.raises(tfport.UnreadableFile, match="repeat inside each other"):
        tfport.load(path)


def test_no_file_of_the_record_is_wrong_in_a_real_release():
    rows = [row for part in json.loads(RECORD.read_text()).values() for row in part["models"]]
    outcomes = [row["outcome"] for row in rows if not CUSTOM.search(row["why"])]
    assert "wrong" not in outcomes
    assert "crash" not in outcomes
    assert outcomes.count("equal") >= 0.9 * len(outcomes)
