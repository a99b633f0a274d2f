"""The Keras configuration in SavedModels that real releases wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.truth_models import TRUTH, model_folder, read_questions

from tfport.errors import UnreadableFile
from tfport.formats.files import Folder
from tfport.formats.keras.saved_model import keras_config_of_saved_model
from tfport.formats.saved_model.read import read_saved_model

CASES = [  # model, class, version of Keras, the classes of its layers
    ("functional_adam-2.0.4", "Model", "2.2.4-tf", ["InputLayer", "Dense"]),
    ("functional_adam-2.3.4", "Functional", "2.4.0", ["InputLayer", "Dense"]),
    ("functional_adam-2.6.5", "Functional", "2.6.0", ["InputLayer", "Dense"]),
    ("functional_adam-2.13.1", "Functional", "2.13.1", ["InputLayer", "Dense"]),
    ("lstm-2.6.5", "Sequential", "2.6.0", ["InputLayer", "LSTM"]),
]


def read(folder: Path):
    files = Folder(folder)
    meta = read_saved_model(files, "saved_model.pb").proto.meta_graphs[0]
    return keras_config_of_saved_model(files, meta.object_graph_def)


@pytest.mark.parametrize(("name", "kind", "version", "layers"), CASES)
def test_the_configuration(name, kind, version, layers):
    file = read(model_folder(f"tests/truth/keras/{name}"))
    assert (file.layout, file.weights, file.unsafe) == ("saved_model", None, [])
    assert (file.config["class_name"], file.keras_version) == (kind, version)
    assert [layer["class_name"] for layer in file.config["config"]["layers"]] == layers


def test_every_recorded_model_is_read():
    questions = read_questions(TRUTH / "keras/questions.json")
    files = {case: read(Path(question["path"])) for case, question in questions.items()}
    assert len(files) > 20
    assert {file.layout for file in files.values() if file} == {"saved_model"}


def test_damaged_metadata_says_where(tmp_path):
    (tmp_path / "keras_metadata.pb").write_bytes(b"\x0a\xff\x01x")
    with pytest.raises(UnreadableFile, match=r"keras_metadata\.pb, byte 0: the Keras metadata ends"):
        keras_config_of_saved_model(Folder(tmp_path), None)


def test_a_model_without_keras(tmp_path):
    assert keras_config_of_saved_model(Folder(tmp_path), None) is None
