"""Constants of TensorFlow Lite files: sparse ones, and those in other files."""

import numpy as np
import pytest
from tests.frontends.lite.cases import graph_case, run, tensor_bytes
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, strings

import tfport
from tfport.formats.lite.flatbuffer import FlatbufferReader, FlatbufferWriter
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.signature import IDENTIFIER
from tfport.formats.lite.write import lite_bytes
from tfport.frontends.lite.constants import constant_array


def external_file(tmp_path, name="weights.bin", **change):
    file = lite_file(graph("x -> y", op("ADD", "x c", "y"), x="FLOAT32 2", y="FLOAT32 2", c="FLOAT32 2"))
    file.subgraphs[0].tensors[2].external_buffer = 7
    file.external_buffer_groups = ({"name": name},)
    file.external_buffers = ({"id": 7, "group": 0, "offset": 4, "length": 8, **change},)
    path = tmp_path / "model.tflite"
    path.write_bytes(lite_bytes(file))
    (tmp_path / "weights.bin").write_bytes(f32(9, 1, 2).tobytes())
    return path


def _run(model):
    signature = model.signatures["serving_default"]
    x, y = signature.inputs["x"].tensors[0], signature.outputs["y"].tensors[0]
    return tfport.Session(model).run([y], {x: f32(10, 20)})[0].tolist()


def test_weights_in_another_file(tmp_path):
    assert _run(tfport.load(external_file(tmp_path))) == [11, 22]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": "../weights.bin"}, "not below the folder of the file"),
        ({"name": "/etc/hostname"}, "not below the folder of the file"),
        ({"name": "missing.bin"}, "missing.bin"),
        ({"length": 100}, "100 bytes from byte 4 of weights.bin, of 12 bytes"),
        ({"id": 8}, "external buffer 7, which is not described"),
        ({"packing": "zip"}, "unknown packing zip"),
    ],
)
def test_weights_that_cannot_be_read_say_why(tmp_path, change, why):
    with pytest.raises(tfport.Error, match=why):
        _run(tfport.load(external_file(tmp_path, **change)))


@pytest.mark.parametrize(
    ("shape", "data", "why"),
    [
        ((2,), np.array([2**30, 12, 12], "<i4").tobytes(), "1073741824 strings"),
        ((1,) * 66, strings("a"), "that many axes"),
        ((0, 2**31 - 1, 2**31 - 1), strings(), "that many axes or elements"),
        ((2**31 - 1,) * 4, strings("a"), "that many axes or elements"),
    ],
)
def test_constants_that_no_array_holds_are_refused(shape, data, why):
    file = lite_file(graph("x -> y", op("GATHER", "c x", "y"), c=strings("a"), x="INT32 1", y="STRING 1"))
    tensor = file.subgraphs[0].tensors[0]
    tensor.shape = shape
    file.buffers[tensor.buffer] = data if isinstance(data, bytes) else tensor_bytes(data, "STRING")
    with pytest.raises(tfport.Error, match=why):
        constant_array(tfport.load(lite_bytes(file)).lite, tensor)


@pytest.mark.parametrize("way", ["engine", "host"])
def test_sparse_weights_are_whole_for_any_operator(way):
    file = lite_file(
        graph(
            "x -> y z",
            op("DENSIFY", "c", "d"),
            op("ADD", "x d", "y"),
            op("ADD", "x c", "z"),
            x="FLOAT32 3",
            y="FLOAT32 3",
            z="FLOAT32 3",
            d="FLOAT32 3",
            c=f32(5),
        )
    )
    tensor = file.subgraphs[0].tensors[4]
    tensor.shape = (3,)
    level = {
        "format": "SPARSE_CSR",
        "array_segments_type": "Int32Vector",
        "array_segments": {"values": (0, 1)},
        "array_indices_type": "Uint8Vector",
        "array_indices": {"values": bytes([2])},
    }
    tensor.sparsity = {"traversal_order": (0,), "dim_metadata": [level]}
    answers = run(graph_case("DENSIFY", file, f32(1, 2, 3)), way)
    assert [answer.tolist() for answer in answers] == [[1, 2, 8], [1, 2, 8]]
    assert np.float32(8) == answers[0][2]


def _outside(size=8):
    """A file whose constant is behind the flatbuffer, as in files over 2 GB."""
    file = lite_file(graph("x -> y", op("ADD", "x c", "y"), x="FLOAT32 2", y="FLOAT32 2", c=f32(1, 2)))
    root = FlatbufferReader(memoryview(lite_bytes(file)), lite_schema(), "file").root("Model")
    data = bytes(1 << 20)
    for _ in ("for its length", "with the real offset"):
        root["buffers"][1] = {"offset": len(data), "size": size}
        data = FlatbufferWriter(lite_schema()).file("Model", root, IDENTIFIER)
        data += bytes(-len(data) % 16)
    return data + f32(1, 2).tobytes()


def test_weights_behind_the_flatbuffer():
    assert _run(tfport.load(_outside())) == [11, 22]


def test_weights_that_end_after_the_file_are_refused():
    with pytest.raises(tfport.Error, match="100 bytes of data end after the file"):
        tfport.load(_outside(size=100))


def test_the_place_of_a_constant_that_does_not_fit_is_said_once():
    parts = op("SPLIT", "axis x", "y z", num_splits=2)
    tensors = {"axis": np.array(0, np.int32), "x": "FLOAT32 6", "y": "FLOAT32 3", "z": "FLOAT32 3"}
    file = lite_file(graph("x -> y z", parts, **tensors))
    file.buffers[1] = b"1"
    with pytest.raises(tfport.Error) as raised:
        tfport.Session(tfport.load(lite_bytes(file)))
    assert str(raised.value).startswith("the bytes given: the constant `axis` has the shape")
