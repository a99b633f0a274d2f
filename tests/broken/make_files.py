"""A file for each kind of file that is not a model, and for each way to damage a model file.

`write` makes all of them in a folder; `sentence` is the error of reading one.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

from tfport.errors import Error
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.message import read_message
from tfport.formats.find import find_model
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.signature import TFJS_LAYERS
from tfport.formats.lite.read import read_lite
from tfport.formats.lite.signature import LITE
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto import saved_model_pb2 as sm
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.tfjs.read import read_tfjs
from tfport.formats.tfjs.signature import TFJS

MESSAGES = {GRAPH_DEF: pb.GraphDef, SAVED_MODEL: sm.SavedModel, META_GRAPH: sm.MetaGraphDef}


def read(name: str | Path) -> None:
    """Read everything of a model file but its graph."""
    location = find_model(name)
    if location.format is TFJS:
        model = read_tfjs(location.files, location.name)
        for weight in model.weights.names():
            model.weights.read(weight)
    elif location.format.key.startswith("keras") or location.format is TFJS_LAYERS:
        keras = read_keras(location.files, location.name)
        for weights in keras.weights.lists.values() if keras.weights else ():
            for stored in weights:
                stored.read()
    elif location.format is LITE:
        read_lite(location.files, location.name)
    elif location.format in MESSAGES:
        read_message(MESSAGES[location.format], location.files, location.name)


def length(number: int, value: bytes) -> bytes:
    assert max(len(value), number * 8) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def varint(number: int, value: int) -> bytes:
    return bytes([number << 3, value])


def graph() -> pb.GraphDef:
    out = pb.GraphDef(versions=pb.VersionDef(producer=27))
    out.node.add(name="x", op="Placeholder").attr["dtype"].type = pb.DT_FLOAT
    out.node.add(name="y", op="Identity", input=["x"]).attr["T"].type = pb.DT_FLOAT
    return out


def saved_model() -> sm.SavedModel:
    out = sm.SavedModel(saved_model_schema_version=1)
    meta = out.meta_graphs.add(graph_def=graph())
    meta.meta_info_def.tags.append("serve")
    return out


def record(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", masked(checksum(size))) + data + struct.pack("<I", masked(checksum(data)))


def zipped(**members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, text in members.items():
            file.writestr(zipfile.ZipInfo(name.replace("__", "/").replace("_dot_", ".")), text)
    return out.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4)


def tfjs(**changes: object) -> bytes:
    weight = {"name": "w", "shape": [2], "dtype": "float32"}
    model = {
        "format": "graph-model",
        "modelTopology": {"node": [{"name": "w", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}}}]},
        "weightsManifest": [{"paths": ["weights.dat"], "weights": [weight]}],
    }
    return json.dumps(model | changes).encode()


def manifest(**changes: object) -> bytes:
    weight = {"name": "w", "shape": [2], "dtype": "float32"} | changes
    return tfjs(weightsManifest=[{"paths": ["weights.dat"], "weights": [weight]}])


def nested(depth: int) -> bytes:
    """A node with nested functions in attributes, made by hand: protobuf does not write such depth."""
    value = b""
    for _ in range(depth):
        for number in (2, 2, 10):  # AttrEntry.value in NameAttrList.attr in AttrValue.func
            size = len(value)
            digits = [size & 127 | 128, size >> 7 & 127 | 128, size >> 14] if size > 127 else [size]
            value = bytes([number << 3 | 2, *digits]) + value
    entry = b"\x12" + bytes([len(value) & 127 | 128, len(value) >> 7 & 127 | 128, len(value) >> 14]) + value
    body = length(1, b"x") + length(2, b"Op") + b"\x2a"
    body += bytes([len(entry) & 127 | 128, len(entry) >> 7 & 127 | 128, len(entry) >> 14]) + entry
    return b"\x0a" + bytes([len(body) & 127 | 128, len(body) >> 7 & 127 | 128, len(body) >> 14]) + body


def cases() -> dict[str, bytes]:
    whole, model = graph().SerializeToString(), saved_model().SerializeToString()
    meta = model[model.index(b"\x12") :]
    return {
        # failed downloads and checkouts
        "empty.pb": b"",
        "zeros.pb": bytes(200),
        "page.pb": b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
        "lfs.pb": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n",
        "annex.pb": b"/annex/objects/SHA256E-s3--00.pb\n",
        "cut_graph.pb": whole[:-3],
        "cut_first_node.pb": whole[:20],
        "cut_saved_model.pb": model[:-5],
        "cut_archive.zip": zipped(saved_model_dot_pb="text")[:-30],
        "cut_archive.tar.gz": gzip.compress(tar(whole), mtime=0)[:-40],
        "cut.pbtxt": b'node {\n  name: "x"\n  op: "Placeho',
        "cut.json": tfjs()[:-20],
        # damaged models
        "bad_name.pb": whole.replace(b"\x01y", b"\x01\xff"),
        "bad_length.pb": whole.replace(b"\x01y", b"\x7fy"),
        "bad_tag.pb": whole + b"\x07",
        "too_deep.pb": nested(60),
        "too_deep.pbtxt": b"library { function { attr { value { func {" + b" attr { value { func {" * 400,
        "unknown_field.pbtxt": b'node {\n  name: "x"\n  color: "red"\n}\n',
        "unknown_type.pbtxt": b'node { name: "x" attr { key: "T" value { type: DT_COMPLEX } } }\n',
        "latin1.pbtxt": b'# caf\xe9\nnode { name: "x" }\n',
        "utf16.pbtxt": 'node { name: "x" }\n'.encode("utf-16"),
        "twice.pbtxt": b'node { name: "x" attr { key: "a" value { i: 1 b: true } } }\n',
        # TensorFlow.js
        "no_weights.json": tfjs(),
        "no_manifest.json": tfjs(weightsManifest=None),
        "bad_base64.json": tfjs(modelTopology={"node": [{"name": "x", "attr": {"a": {"s": "&"}}}]}),
        "bad_number.json": tfjs(modelTopology={"node": [{"name": "x", "attr": {"a": {"i": "one"}}}]}),
        "bad_type.json": tfjs(modelTopology={"node": [{"name": "x", "attr": {"T": {"type": "DT_X"}}}]}),
        "bad_shape.json": manifest(shape=[-2]),
        "bad_dtype.json": manifest(dtype="float31"),
        "bad_quantization.json": manifest(quantization={"dtype": "uint8", "scale": 0.5}),
        "escapes.json": tfjs(weightsManifest=[{"paths": ["../secret"], "weights": []}]),
        "layers.json": b'{"format": "layers-model", "modelTopology": {"class_name": "Sequential"}}',
        "old_layers.json": b'{"modelTopology": {"keras_version": "2.1"}, "weightsManifest": []}',
        "manifest.json": b'[{"weights": [{"name": "w"}], "paths": ["a"]}]',
        "architecture.json": b'{"class_name": "Functional", "config": {',
        "other.json": b'{"name": "package"}',
        # other frameworks
        "onnx.pb": varint(1, 8)
        + length(2, b"pytorch")
        + length(7, length(1, length(4, b"Relu")))
        + length(8, b""),
        "lite.tflite": b"\x1c\x00\x00\x00TFL3" + bytes(40),
        "weights.h5": b"\x89HDF\r\n\x1a\n" + bytes(40),
        "model.keras": zipped(metadata_dot_json="{}", config_dot_json="{}", model_dot_weights_dot_h5="x"),
        "torch.pt": zipped(archive__data_dot_pkl="x", archive__version="3"),
        "script.pt": zipped(archive__constants_dot_pkl="x", archive__code__m_dot_py="x"),
        "old_torch.pth": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + b"\x80\x02M\xe9\x03.",
        "object.pkl": pickle.dumps({"a": 1}, protocol=4),
        "weights.safetensors": safetensors(),
        "array.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}",
        "arrays.npz": zipped(a_dot_npy="x", b_dot_npy="x"),
        "core.mlmodel": varint(1, 4) + length(2, b"\x0a\x00") + b"\xa2\x1f\x00",
        "openvino.xml": b'<?xml version="1.0"?>\n<net name="m" version="10">\n</net>\n',
        "other.xml": b'<?xml version="1.0"?>\n<svg></svg>\n',
        "stable.mlirbc": b"ML\xefR\x0dStableHLO_v1.0.0\x00",
        "split.cpb": b"\x83\xafp\xd1\r\x88J?" + bytes(56),
        "caffe.prototxt": b'name: "net"\nlayer { name: "data" }\n',
        "labels.pbtxt": b"item {\n  id: 1\n}\n",
        "pipeline.config": b"model {\n  ssd {\n  }\n}\n",
        # other files that are found beside models
        "events.out.tfevents.1": record(b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2"),
        "data.tfrecord": record(b"\x0a\x00"),
        "fingerprint.pb": varint(1, 5) + varint(2, 6) + varint(3, 7) + varint(4, 8),
        "keras_metadata.pb": length(1, length(3, b"root") + length(4, b"_tf_keras_model") + length(5, b"{}")),
        "group1-shard1of2.bin": bytes([200, 3, 61, 9] * 30),
        "checkpoint": b'model_checkpoint_path: "/home/someone/run/model.ckpt-7"\n',
        "model.ckpt.data-00000-of-00001": bytes(range(100)),
        "library.so": b"\x7fELF\x02\x01\x01" + bytes(57),
        "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(20),
        "single.pb.gz": gzip.compress(whole, mtime=0),
        "seven.7z": b"7z\xbc\xaf\x27\x1c" + bytes(20),
        "readme.txt": b"This model was trained on\n",
        "noise.pb": bytes((i * 37 + 11) % 256 for i in range(300)),
        "meta_of_nothing.pb": length(9, b"abc") + length(12, meta[:20]),
        # archives
        "escapes.zip": zipped(**{"..__..__etc__passwd": "x"}),
        "readme.zip": zipped(readme_dot_txt="x", docs__index_dot_html="x"),
        "nested.zip": zipped(inner_dot_zip="x", readme_dot_txt="x"),
    }


def tar(data: bytes) -> bytes:
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        info = tarfile.TarInfo("graph.pb")
        info.size = len(data)
        file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def write(folder: Path) -> list[str]:
    """Write all files to a folder; return their names."""
    folder.mkdir()
    for name, data in cases().items():
        (folder / name).write_bytes(data)
    return list(cases())


def sentence(path: Path) -> str:
    """The error of a file, without its folder."""
    try:
        read(path)
    except Error as error:
        return f"{type(error).__name__}: {error}".replace(f"{path.parent}{os.sep}", "")
    raise AssertionError(f"nothing is wrong with {path}")
