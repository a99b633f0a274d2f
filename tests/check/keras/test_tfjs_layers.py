"""Layers models of Keras 3, mended step by step: what TensorFlow.js 4.22.0 says of each in Node."""

import json
import shutil
from pathlib import Path

import pytest

import tfport

STORED = Path(__file__).parent / "layers_models" / "keras_3"
SHAPES = "An InputLayer should be passed either a `batchInputShape` or an `inputShape`."
NODES = "Corrupted configuration, expected array for nodeData: [object Object]"
ENDS = "Cannot read properties of undefined (reading 'outputTensors')"
NAMES = "Provided weight data has no target variable: fun/d/kernel"


def shapes(model):
    for layer in layers(model):
        if "batch_shape" in layer["config"]:
            layer["config"]["batch_input_shape"] = layer["config"].pop("batch_shape")


def nodes(model):
    for layer in layers(model):
        layer["inbound_nodes"] = [
            [[*node["args"][0]["config"]["keras_history"], {}]] for node in layer["inbound_nodes"]
        ]


def ends(model):
    config = model["modelTopology"]["model_config"]["config"]
    for key in ("input_layers", "output_layers"):
        config[key] = [config[key]]


def longer_names(model):
    for weight in model["weightsManifest"][0]["weights"]:
        weight["name"] = f"fun/{weight['name']}"


def layers(model):
    return model["modelTopology"]["model_config"]["config"]["layers"]


@pytest.mark.parametrize(
    ("changes", "refusals"),
    [
        ([], [SHAPES, NODES, ENDS]),
        ([shapes], [NODES, ENDS]),
        ([shapes, nodes], [ENDS]),
        ([shapes, nodes, ends], []),
        ([shapes, nodes, ends, longer_names], [NAMES]),
    ],
)
def test_what_tensorflow_js_does_not_read(tmp_path, changes, refusals):
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    model = json.loads((STORED / "model.json").read_text())
    for change in changes:
        change(model)
    (tmp_path / "model.json").write_text(json.dumps(model))
    report = tfport.check(str(tmp_path), on="tfjs[cpu]==4.22.0")
    findings = report.results[0].findings
    assert [finding.says() for finding in findings] == refusals
    assert report.verdict == ("fails" if refusals else "runs")
