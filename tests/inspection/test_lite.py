"""The inspection of TensorFlow Lite files."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, const, out, q
from tests.runtime.cases import i8, numbers

import tfport
from tfport.formats.files import MemoryFiles
from tfport.formats.lite.flatbuffer import FlatbufferWriter
from tfport.formats.lite.read import read_lite
from tfport.formats.lite.schema import metadata_schema
from tfport.formats.lite.write import lite_bytes

X = numbers(1, 4)
WEIGHTS = numbers(3, 4)
FLOAT = case("FULLY_CONNECTED", X, const(WEIGHTS), None, outputs=[out("FLOAT32", shape=(1, 3))])
DYNAMIC = case(
    "FULLY_CONNECTED", X, const(q(WEIGHTS.astype(np.int8), [0.5, 0.25, 1], axis=0)), None,
    outputs=[out("FLOAT32", shape=(1, 3))], version=9,
)  # fmt: skip
INTEGER = case("ADD", q(i8(1, 2), 0.5), q(i8(3, 4), 0.25), outputs=[out("INT8", 0.75, -3, (2,))])


def inspected(data):
    return tfport.inspect(tfport.load(data)).to_json()["lite"]


def with_metadata(data, **entries):
    file = read_lite(MemoryFiles("m.tflite", {"m.tflite": memoryview(data)}), "m.tflite")
    for name, content in entries.items():
        file.metadata.append((name, len(file.buffers)))
        file.buffers.append(content)
    return lite_bytes(file)


@pytest.mark.parametrize(
    ("c", "quantization", "per_channel", "weights"),
    [
        (FLOAT, None, 0, {"float32": 48}),
        (DYNAMIC, "dynamic range: int8 weights", 1, {"int8": 12}),
        (INTEGER, "integers: int8", 0, {}),
    ],
)
def test_quantization_is_described(c, quantization, per_channel, weights):
    lite = inspected(c.model)
    assert (lite["quantization"], lite["per_channel_weights"], lite["weights"]) == (
        quantization,
        per_channel,
        weights,
    )


def test_operators_have_their_versions():
    (operator,) = inspected(DYNAMIC.model)["operators"]
    assert operator == {"op": "FULLY_CONNECTED", "version": 9, "custom": None, "flex": None, "count": 1}


def test_activations_that_live_at_once_are_counted():
    assert inspected(FLOAT.model)["activations"] == 4 * 4 + 3 * 4


def test_metadata_is_read():
    model = {
        "name": "Birds",
        "author": "someone",
        "subgraph_metadata": [{"output_tensor_metadata": [{"associated_files": [{"name": "labels.txt"}]}]}],
    }
    description = FlatbufferWriter(metadata_schema()).file("ModelMetadata", model, b"M001")
    entries = {"min_runtime_version": b"2.5.0\0\0\0", "TFLITE_METADATA": description}
    lite = inspected(with_metadata(FLOAT.model, **entries))
    assert lite["min_runtime_version"] == "2.5.0"
    assert lite["metadata"] == ["min_runtime_version", "TFLITE_METADATA"]
    assert (lite["model"]["name"], lite["model"]["author"]) == ("Birds", "someone")
    assert lite["associated_files"] == ["labels.txt"]


def test_damaged_metadata_is_a_problem_and_not_an_error():
    text = str(tfport.inspect(tfport.load(with_metadata(FLOAT.model, TFLITE_METADATA=b"\xff" * 12))))
    assert "its metadata, byte" in text


def test_the_text_has_the_main_facts():
    text = str(tfport.inspect(tfport.load(INTEGER.model)))
    for part in ("TensorFlow Lite model", "integers: int8", "0.5 * (q - 0)", "ADD", "version 1"):
        assert part in text
