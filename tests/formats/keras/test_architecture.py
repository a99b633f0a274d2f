"""Architectures in JSON, and the weights beside them."""

from __future__ import annotations

import json

import pytest
from tests.formats.keras.samples import KERNEL, MODEL, h5, put_layers, put_model

from tfport.errors import UnreadableFile
from tfport.formats.files import Folder
from tfport.formats.keras.read import read_keras

WEIGHTS = h5(lambda file: put_layers(file, {"dense": {"w": KERNEL}}))


def read(folder, **files: bytes):
    text = json.dumps({**MODEL, "keras_version": "2.2.4", "backend": "tensorflow"})
    (folder / "net.json").write_text(text)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return read_keras(Folder(folder), "net.json")


@pytest.mark.parametrize(
    "name", ["net.h5", "net_weights.h5", "net.weights.h5", "net.hdf5", "weights.h5", "weights.hdf5"]
)
def test_the_weights_beside_it_are_taken(name, tmp_path):
    file = read(tmp_path, **{name: WEIGHTS, "other.h5": WEIGHTS})
    assert (file.layout, file.keras_version, file.backend) == ("json", "2.2.4", "tensorflow")
    assert file.notes == [f"the weights are those of {name}, next to net.json"]
    assert [weight.name for weight in file.weights.lists["dense"]] == ["w"]


def test_a_whole_model_beside_it_has_weights_too(tmp_path):
    assert "dense" in read(tmp_path, **{"net.h5": h5(put_model)}).weights.lists


def test_none_of_several_is_taken(tmp_path):
    file = read(tmp_path, **{"net.h5": WEIGHTS, "weights.h5": WEIGHTS})
    assert file.weights is None
    assert file.notes == [
        "no weights: each of net.h5, weights.h5 could be those of net.json; keep only one of them next to it"
    ]


def test_without_weights(tmp_path):
    file = read(tmp_path, **{"net.h5": h5(lambda f: f.__setitem__("x", 1)), "weights.h5": b"text"})
    assert file.weights is None
    assert file.notes == ["no weights: put them next to the architecture, as net.h5 or net.weights.h5"]


def test_damaged_weights_are_not_left_out(tmp_path):
    with pytest.raises(UnreadableFile, match=r"net\.h5.* damaged HDF5"):
        read(tmp_path, **{"net.h5": WEIGHTS[:60]})
