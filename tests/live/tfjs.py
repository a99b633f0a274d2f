"""Convert a TF.js graph model to TensorFlow's messages: parse its JSON, put its weights into the graph.

TensorFlow reads the GraphDef in the JSON, but not the weights in separate files. They are decoded here as
in TF.js (`decodeWeights` of its io_utils), and not by tfport.
"""

from __future__ import annotations

import base64
import json
from math import prod
from pathlib import Path

import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.protobuf import meta_graph_pb2

TYPES = {"complex64": np.complex64, "string": object}  # all others have numpy's names


def meta_graph(path: Path):
    """Return graph, weights and signature as a MetaGraph."""
    model = json.loads(path.read_text(), object_hook=with_bytes)
    meta = meta_graph_pb2.MetaGraphDef()
    json_format.ParseDict(model["modelTopology"], meta.graph_def)
    bind(meta.graph_def, weights(path.parent, model.get("weightsManifest", [])))
    signature_json = (model.get("userDefinedMetadata") or {}).get("signature") or model.get("signature") or {}
    signature = json_format.ParseDict(signature_json, meta_graph_pb2.SignatureDef())
    if signature.inputs or signature.outputs:
        meta.signature_def["serving_default"].CopyFrom(signature)
    return meta


def with_bytes(attr: dict) -> dict:
    """Convert strings that early converters wrote as lists of numbers to base64, as protobuf requires."""
    text = attr.get("s")
    is_one = text or len(attr) == 1  # an empty list of strings comes with empty lists of numbers
    if isinstance(text, list) and is_one and all(isinstance(byte, int) for byte in text):
        return {**attr, "s": base64.b64encode(bytes(text)).decode()}
    return attr


def bind(graph_def, values: dict[str, np.ndarray]) -> None:
    for node in graph_def.node:
        if node.op == "Const" and node.name in values:
            kind = tf.dtypes.as_dtype(node.attr["dtype"].type)
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values[node.name], kind))


def weights(folder: Path, manifest: list[dict]) -> dict[str, np.ndarray]:
    """Return each weight by name; those of a group are stored one after another in its files."""
    out = {}
    for group in manifest:
        data, at = b"".join((folder / path).read_bytes() for path in group["paths"]), 0
        for weight in group["weights"]:
            out[weight["name"]], at = decode(weight, data, at)
    return out


def decode(weight: dict, data: bytes, at: int) -> tuple[np.ndarray, int]:
    """Return the weight that starts at `at`, and the start of the next one."""
    count, stored = prod(weight["shape"]), weight.get("quantization", weight)["dtype"]
    if stored == "string":
        return strings(weight["shape"], count, data, at)
    kind = np.dtype(TYPES.get(stored, stored))
    array = np.frombuffer(data, kind, count, at).reshape(weight["shape"])
    return dequantized(weight, array), at + kind.itemsize * count


def strings(shape: list[int], count: int, data: bytes, at: int) -> tuple[np.ndarray, int]:
    out = np.empty(count, object)
    for i in range(count):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        out[i], at = data[at + 4 : end], end
    return out.reshape(shape), at


def dequantized(weight: dict, array: np.ndarray) -> np.ndarray:
    """Dequantize like JavaScript: compute in float64 and round at the end."""
    how = weight.get("quantization")
    if how is None or how["dtype"] == "float16":
        return array.astype(TYPES.get(weight["dtype"], weight["dtype"]))
    values = array.astype(np.float64) * how["scale"] + how["min"]
    return (
        values.astype(np.float32) if weight["dtype"] == "float32" else np.floor(values + 0.5).astype(np.int32)
    )
