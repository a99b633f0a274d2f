"""Weights that are written for TensorFlow.js and read again."""

import json

import numpy as np
import pytest

from tfport.errors import Error
from tfport.formats.files import Folder
from tfport.formats.tfjs import write
from tfport.formats.tfjs.weights import TfjsWeights
from tfport.formats.tfjs.write import parse_quantization, stored_array, write_tfjs

STRINGS = np.array([b"a", b"", "ü".encode()], object)
ARRAYS = {
    "w": np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3),
    "n": np.array([[1], [-7]], np.int32),
    "s": STRINGS,
    "b": np.array([True, False]),
    "z": np.array(1 + 2j, np.complex64),
    "none": np.zeros((0, 4), np.float32),
}


def written(folder, arrays, *quantize):
    write_tfjs(folder / "m", {"format": "graph-model"}, arrays.items(), parse_quantization(quantize))
    document = json.loads((folder / "m/model.json").read_text())
    return document, TfjsWeights(document["weightsManifest"], Folder(str(folder / "m")), "model.json")


def test_arrays_are_read_again(tmp_path):
    document, weights = written(tmp_path, ARRAYS)
    assert document["format"] == "graph-model"
    for name, array in ARRAYS.items():
        assert weights.read(name).tolist() == array.tolist()


def test_shards_are_cut_at_any_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "SHARD_BYTES", 7)
    document, weights = written(tmp_path, ARRAYS)
    (group,) = document["weightsManifest"]
    assert group["paths"][0] == f"group1-shard1of{len(group['paths'])}.bin"
    assert {(tmp_path / "m" / path).stat().st_size for path in group["paths"][:-1]} == {7}
    assert weights.read("s").tolist() == STRINGS.tolist()


@pytest.mark.parametrize(("dtype", "far"), [("float16", 1e-3), ("uint8", 6e-3), ("uint16", 3e-5)])
def test_quantized_weights_are_near(tmp_path, dtype, far):
    document, weights = written(tmp_path, {**ARRAYS, "same": np.full(3, 4.5, np.float32)}, dtype)
    assert np.abs(weights.read("w") - ARRAYS["w"]).max() < far
    assert weights.read("same").tolist() == [4.5] * 3
    entries = {entry["name"]: entry for entry in document["weightsManifest"][0]["weights"]}
    assert entries["w"]["quantization"]["dtype"] == dtype
    assert "quantization" not in entries["n"]


def test_zero_stays_zero(tmp_path):
    _, weights = written(tmp_path, {"w": np.array([-0.3, 0, 0.71], np.float32)}, "uint8")
    assert weights.read("w")[1] == 0


def test_patterns_choose_weights(tmp_path):
    arrays = {name: np.arange(4, dtype=np.float32) for name in ("dense/kernel", "dense/bias", "out")}
    document, _ = written(tmp_path, arrays, "uint8=dense/*", "float16")
    dtypes = [entry["quantization"]["dtype"] for entry in document["weightsManifest"][0]["weights"]]
    assert dtypes == ["uint8", "uint8", "float16"]


def test_types_that_tensorflow_js_lacks_are_stored_as_others():
    assert stored_array(np.array([2**31 - 1]), "x").dtype == np.int32
    assert stored_array(np.array([0.5]), "x").dtype == np.float32
    with pytest.raises(Error, match="`x`: int64 numbers that int32 does not hold"):
        stored_array(np.array([2**31]), "`x`")


def test_unknown_quantization_is_an_error():
    with pytest.raises(Error, match="--quantize int4: expected float16, uint8 or uint16"):
        parse_quantization(["int4"])
    with pytest.raises(Error, match="two types for all weights"):
        parse_quantization(["uint8", "float16"])
