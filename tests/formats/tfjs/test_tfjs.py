import base64
import json
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.error_messages import assert_one_line

from tfport.errors import Error, MissingTensor, UnreadableFile
from tfport.formats.files import Folder, MemoryFiles
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.tfjs.read import read_tfjs

X, W = {"name": "x", "op": "Placeholder"}, {"name": "w", "op": "Const"}


def files(model, **shards):
    contents = {"model.json": json.dumps(model).encode()} | {n: bytes(d) for n, d in shards.items()}
    return MemoryFiles("model.json", {name: memoryview(data) for name, data in contents.items()})


def graph_of(*nodes):
    model = {"modelTopology": {"node": list(nodes)}, "weightsManifest": []}
    return read_tfjs(files(model), "model.json").graph


def weights_of(*specs, paths=("a",), **shards):
    weights = [dict(zip(("name", "dtype", "shape", "quantization"), spec, strict=False)) for spec in specs]
    model = {"modelTopology": {"node": [W]}, "weightsManifest": [{"paths": paths, "weights": weights}]}
    return read_tfjs(files(model, **shards), "model.json").weights


SAME = base64.b64encode(b"SAME").decode()
WRITINGS = [  # an attribute in the JSON of different converters, and its value
    ({"s": SAME}, pb.AttrValue(s=b"SAME")),
    ({"s": SAME.rstrip("=")}, pb.AttrValue(s=b"SAME")),
    ({"s": [83, 65, 77, 69]}, pb.AttrValue(s=b"SAME")),
    ({"s": {"type": "Buffer", "data": [83, 65, 77, 69]}}, pb.AttrValue(s=b"SAME")),
    ({"s": []}, pb.AttrValue(s=b"")),
    ({"type": "DT_FLOAT"}, pb.AttrValue(type=pb.DT_FLOAT)),
    ({"type": 1}, pb.AttrValue(type=pb.DT_FLOAT)),
    ({"i": "32"}, pb.AttrValue(i=32)),
    ({"i": -1}, pb.AttrValue(i=-1)),
    ({"i": {"low": -1, "high": -1, "unsigned": False}}, pb.AttrValue(i=-1)),
    ({"f": 0}, pb.AttrValue(f=0.0)),
    ({"f": "-Infinity"}, pb.AttrValue(f=-np.inf)),
    ({"b": False}, pb.AttrValue(b=False)),
    ({"list": {}}, pb.AttrValue(list=pb.AttrValue.ListValue())),
    ({"list": {"i": ["1", 2], "s": [], "func": []}}, pb.AttrValue(list=pb.AttrValue.ListValue(i=[1, 2]))),
    ({"list": {"s": [SAME, [65]]}}, pb.AttrValue(list=pb.AttrValue.ListValue(s=[b"SAME", b"A"]))),
    ({"shape": {"dim": [{"size": "-1"}, {"size": 3}]}},
     pb.AttrValue(shape=pb.TensorShapeProto(dim=[{"size": -1}, {"size": 3}]))),
    ({"shape": {"unknownRank": True}}, pb.AttrValue(shape=pb.TensorShapeProto(unknown_rank=True))),
    ({"shape": {"unknown_rank": True}}, pb.AttrValue(shape=pb.TensorShapeProto(unknown_rank=True))),
    ({"tensor": {"dtype": 3, "tensorShape": {"dim": []}, "intVal": []}},
     pb.AttrValue(tensor=pb.TensorProto(dtype=pb.DT_INT32, tensor_shape=pb.TensorShapeProto()))),
    ({"func": {"name": "f", "attr": {"T": {"type": "DT_INT32"}}}},
     pb.AttrValue(func=pb.NameAttrList(name="f", attr={"T": pb.AttrValue(type=pb.DT_INT32)}))),
    ({"i": 1, "newer": {"x": 1}}, pb.AttrValue(i=1)),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), WRITINGS, ids=[str(w) for w, _ in WRITINGS])
def test_an_attribute_is_read_in_every_notation(written, meant):
    (node,) = graph_of(X | {"attr": {"a": written}}).node
    assert node.attr["a"] == meant


U8, U16 = {"dtype": "uint8", "scale": 0.1, "min": -3}, {"dtype": "uint16", "scale": 0.5, "min": -1.0}
F4, HALF = np.float32, {"dtype": "float16", "original_dtype": "float32"}
VALUES = [  # type, shape, quantization, bytes, the array
    ("float32", [2], None, np.array([1.5, -2], F4), np.array([1.5, -2], F4)),
    ("int32", [], None, np.array(7, np.int32), np.array(7, np.int32)),
    ("bool", [3], None, b"\x01\x00\x01", np.array([True, False, True])),
    ("complex64", [1], None, np.array([1 - 2j], np.complex64), np.array([1 - 2j], np.complex64)),
    ("float32", [0, 4], None, b"", np.zeros((0, 4), F4)),
    ("float32", [2, 2], HALF, np.arange(4, dtype=np.float16), np.arange(4, dtype=F4).reshape(2, 2)),
    ("float32", [3], U8, b"\x00\x1e\xff", (np.array([0, 30, 255]) * 0.1 - 3).astype(F4)),
    ("float32", [2], U16, np.array([0, 65535], np.uint16), np.array([-1, 32766.5], F4)),
    (
        "int32",
        [3],
        U16,
        np.array([1, 2, 3], np.uint16),
        np.array([0, 0, 1], np.int32),
    ),  # halves are rounded up
    ("string", [2], None, b"\x03\0\0\0one\0\0\0\0", np.array([b"one", b""], object)),
]


@pytest.mark.parametrize(("dtype", "shape", "quantization", "data", "expected"), VALUES)
def test_a_weight_is_decoded_as_in_tensorflow_js(dtype, shape, quantization, data, expected):
    weights = weights_of(("w", dtype, shape, quantization), a=memoryview(data).tobytes())
    entry, array = weights.entry("w"), weights.read("w")
    assert entry.shape == array.shape == tuple(shape)
    assert entry.nbytes == (None if dtype == "string" else memoryview(data).nbytes)
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)
    assert not array.flags.writeable


def test_weights_are_stored_one_after_another_across_shards():
    data = np.arange(5, dtype=F4).tobytes()
    text = struct.pack("<I", 4) + b"four"
    whole = data + text + data
    specs = [("w", "float32", [5]), ("s", "string", [1]), ("v", "float32", [5])]
    for cut in range(len(whole)):
        weights = weights_of(*specs, paths=("a", "b"), a=whole[:cut], b=whole[cut:])
        assert weights.names() == ["s", "v", "w"]
        assert weights.read("v").tolist() == [0, 1, 2, 3, 4]
        assert weights.read("s").tolist() == [b"four"]


def test_each_group_of_weights_has_its_own_files(tmp_path):
    groups = [
        {"paths": [f"{name}.bin"], "weights": [{"name": name, "dtype": "float32", "shape": [1]}]}
        for name in "ab"
    ]
    (tmp_path / "m").mkdir()
    for number, name in enumerate("ab"):
        (tmp_path / "m" / f"{name}.bin").write_bytes(np.array([number], F4).tobytes())
    model = {"modelTopology": {"node": [W]}, "weightsManifest": groups}
    (tmp_path / "m" / "model.json").write_text(json.dumps(model))
    weights = read_tfjs(Folder(tmp_path), "m/model.json").weights
    assert [weights.read(name).tolist() for name in "ab"] == [[0], [1]]
    assert "a" in weights
    assert "c" not in weights


SHORT = [  # the existing shards, the error of reading w
    ({"a": b"1234"}, "model.json: ends 4 bytes before the weight w does; it was cut short"),
    ({}, "model.json: missing; model.json expects the weight w in it"),
    ({"a": bytes(9)}, "model.json: ends 1 byte after the last weight that model.json lists; "
     "the files belong to another model, or one of them was replaced"),
]  # fmt: skip


@pytest.mark.parametrize(("shards", "message"), SHORT)
def test_a_missing_short_or_long_shard_is_an_error(shards, message):
    weights = weights_of(("w", "float32", [2]), **shards)
    assert weights.entry("w").nbytes == 8
    with pytest.raises(UnreadableFile) as raised:
        weights.read("w")
    assert str(raised.value) == message


def test_the_error_for_an_unknown_weight_lists_similar_names():
    with pytest.raises(MissingTensor, match="no tensor kernal; similar names: kernel"):
        weights_of(("kernel", "float32", [2])).read("kernal")


def test_signature_initializer_and_metadata_are_kept():
    info = {"name": "x:0", "dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "-1"}]}}
    model = {
        "format": "graph-model",
        "generatedBy": "2.4.1",
        "convertedBy": "TensorFlow.js Converter v3.13.0",
        "signature": {"inputs": {"x": info, "table": info | {"resourceId": 7}}, "outputs": {}},
        "modelTopology": {"node": [X], "library": {}, "versions": {"producer": 561}},
        "modelInitializer": {"node": [{"name": "t", "op": "HashTableV2"}]},
        "initializerSignature": {"outputs": {"t": {"name": "t:0", "dtype": "DT_RESOURCE", "resourceId": 7}}},
        "weightsManifest": [],
        "userDefinedMetadata": {"labels": ["a"]},
    }
    read = read_tfjs(files(model), "model.json")
    assert (read.format, read.generated_by, read.converted_by) == (
        "graph-model", "2.4.1", "TensorFlow.js Converter v3.13.0")  # fmt: skip
    assert read.graph.versions.producer == 561
    assert read.signature.inputs["x"].tensor_shape.dim[0].size == -1
    assert read.initializer.node[0].op == "HashTableV2"
    assert read.initializer_signature.outputs["t"].dtype == pb.DT_RESOURCE
    assert read.captured == {"table": "t"}
    assert read.metadata == {"labels": ["a"]}


def test_an_old_signature_is_found_among_the_metadata():
    signature = {"inputs": {"x": {"name": "x:0"}}}
    model = {"modelTopology": {"node": [X]}, "weightsManifest": [], "modelInitializer": {}}
    read = read_tfjs(files(model | {"userDefinedMetadata": {"signature": signature}}), "model.json")
    assert read.signature.inputs["x"].name == "x:0"
    assert read.initializer is None
    assert read_tfjs(files(model), "model.json").signature is None


WORDS = """modelTopology weightsManifest signature initializerSignature userDefinedMetadata node attr name op
    a s i f b list shape type tensor func dim size paths weights dtype quantization min scale inputs"""
KEYS = st.text(max_size=3) | st.sampled_from(WORDS.split())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    LEAVES | st.sampled_from(["DT_FLOAT", SAME, "float32", "uint8"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
ANY = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@ANY
@given(
    JSON, st.sampled_from(["", "modelTopology", "weightsManifest", "signature", "node", "attr", "weights"])
)
def test_any_json_is_a_model_or_an_error(value, place):
    node = X | {"attr": {"a": value}} if place == "attr" else value
    model = {
        "modelTopology": {"node": [node] if place in ("node", "attr") else []},
        "weightsManifest": [{"paths": ["a"], "weights": value if place == "weights" else []}],
    }
    read_or_error(json.dumps(model | {place: value} if place else value).encode())


@ANY
@given(st.data())
def test_any_change_is_a_model_or_an_error(draw):
    model = {
        "modelTopology": {"node": [X | {"attr": {"a": {"s": SAME}, "T": {"type": 1}}}]},
        "weightsManifest": [{"paths": ["a"], "weights": [{"name": "w", "shape": [2], "dtype": "string"}]}],
    }
    data = bytearray(json.dumps(model).encode())
    for at in draw.draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=3)):
        data[at] = draw.draw(st.integers(0, 255))
    read_or_error(bytes(data))


def read_or_error(data):
    contents = {"model.json": memoryview(data), "a": memoryview(b"\x01\0\0\0x\xff\xff\0\0")}
    try:
        weights = read_tfjs(MemoryFiles("model.json", contents), "model.json").weights
        for name in weights.names():
            weights.read(name)
    except Error as error:
        return assert_one_line(error)
    return ""


def test_excessive_nesting_is_refused():
    assert "too deep" in read_or_error(b'{"a":' * 100_000)
    inner = b'{"func": {"attr": {"a": ' * 300 + b"{}" + b"}}}" * 300
    node = b'{"modelTopology": {"node": [{"attr": {"a": ' + inner + b"}}]}}"
    assert "too deep" in read_or_error(node)


def test_a_shard_is_read_once_for_all_its_weights(tmp_path):
    opened = []

    class Counted(Folder):
        def map(self, name):
            opened.append(name)
            return super().map(name)

    specs = [{"name": f"w{i}", "dtype": "int32", "shape": [1]} for i in range(6)]
    model = {
        "modelTopology": {"node": [W]},
        "weightsManifest": [{"paths": ["a", "b"], "weights": specs}],
    }
    (tmp_path / "model.json").write_text(json.dumps(model))
    (tmp_path / "a").write_bytes(struct.pack("<4i", 0, 1, 2, 3))
    (tmp_path / "b").write_bytes(struct.pack("<2i", 4, 5))
    weights = read_tfjs(Counted(tmp_path), "model.json").weights
    assert [weights.read(f"w{i}").tolist() for i in range(6)] == [[i] for i in range(6)]
    assert opened == ["model.json", "a", "b"]
