"""The files of the weights of a TensorFlow.js model are complete, or `check` names the one that is not."""

import json
from pathlib import Path

import pytest

import tfport

GRAPH = json.loads((Path(__file__).parents[1] / "models/tfjs_without_weights/model.json").read_text())
LAYERS = {
    "format": "layers-model",
    "modelTopology": {
        "keras_version": "2.10.0",
        "model_config": {
            "class_name": "Sequential",
            "config": {
                "name": "s",
                "layers": [
                    {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}},
                    {"class_name": "Dense", "config": {"units": 2, "use_bias": False, "name": "w"}},
                ],
            },
        },
    },
    "weightsManifest": [
        {"paths": ["a.bin"], "weights": [{"name": "w/kernel", "shape": [4, 2], "dtype": "float32"}]}
    ],
}
SIZES = [(0, "ends 32 bytes before"), (31, "ends 1 byte before"), (32, None), (33, "ends 1 byte after")]


@pytest.mark.parametrize("model", [GRAPH, LAYERS], ids=["graph", "layers"])
@pytest.mark.parametrize(("size", "said"), SIZES)
def test_the_size_of_a_file_of_weights_decides(tmp_path, model, size, said):
    (tmp_path / "model.json").write_text(json.dumps(model))
    (tmp_path / model["weightsManifest"][0]["paths"][0]).write_bytes(bytes(size))
    report = tfport.check(str(tmp_path / "model.json"), on="tfport")
    assert [finding.code for finding in report.findings] == (["TFP020"] if said else [])
    assert report.verdict == ("fails" if said else "runs")
    assert not said or said in report.findings[0].message


@pytest.mark.parametrize("model", [GRAPH, LAYERS], ids=["graph", "layers"])
def test_a_missing_file_of_weights_is_named(tmp_path, model):
    (tmp_path / "model.json").write_text(json.dumps(model))
    report = tfport.check(str(tmp_path / "model.json"), on="tfport")
    assert report.verdict == "fails"
    assert f"{model['weightsManifest'][0]['paths'][0]}: missing" in report.findings[0].message
