"""Facts about a model according to TensorFlow, as plain dicts to compare with.

    python -m tests.live.facts PATH       print them as JSON

`facts(path)` reads with TensorFlow's own messages and checkpoint reader: graphs with their
signatures, op counts and constants, and variables with their values. Values appear as
SHA-256 digests: see `sums`. `loads` checks whether TensorFlow also loads the model.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2, trackable_object_graph_pb2
from tests.live import sums, tfjs

v1 = tf.compat.v1
VERSION = tf.__version__
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def dtype(number: int) -> str | None:
    return tf.dtypes.as_dtype(number).name if number else None


def shape(proto) -> list[int | None] | None:
    return tf.TensorShape(proto).as_list() if not proto.unknown_rank else None


def tensor(info) -> dict:
    """Describe an input or output of a signature; a sparse one has indices, values and dense shape."""
    if info.HasField("composite_tensor"):
        kind = info.composite_tensor.type_spec
        parts = [tensor(part) for part in info.composite_tensor.components]
        return {"type": kind.TypeSpecClass.Name(kind.type_spec_class), "parts": parts}
    has_shape = info.HasField("tensor_shape")
    out = {"dtype": dtype(info.dtype), "shape": shape(info.tensor_shape) if has_shape else None}
    if info.HasField("coo_sparse"):
        coo = info.coo_sparse
        return out | {
            "sparse": [coo.indices_tensor_name, coo.values_tensor_name, coo.dense_shape_tensor_name]
        }
    return out | {"name": info.name}


def signature(proto) -> dict:
    return {
        "method": proto.method_name,
        "inputs": {name: tensor(info) for name, info in proto.inputs.items()},
        "outputs": {name: tensor(info) for name, info in proto.outputs.items()},
        "defaults": {name: value(t) for name, t in proto.defaults.items()},
    }


def value(proto) -> dict:
    return sums.value(dtype(proto.dtype), tf.make_ndarray(proto))


def constants(nodes) -> dict:
    return sums.digest_of_all({n.name: value(n.attr["value"].tensor) for n in nodes if n.op == "Const"})


def census(nodes) -> dict:
    inputs = [i for n in nodes for i in n.input]
    controls = sum(i.startswith("^") for i in inputs)
    return {
        "ops": dict(Counter(n.op for n in nodes)),
        "inputs": len(inputs) - controls,
        "controls": controls,
        "constants": constants(nodes),
    }


def graph(graph_def, version="") -> dict:
    versions = graph_def.versions
    library = graph_def.library
    return {
        "producer": {
            "tensorflow": version,
            "graph_def": versions.producer,
            "min_consumer": versions.min_consumer,
        },
        "main": census(graph_def.node),
        "functions": {f.signature.name: census(f.node_def) for f in library.function},
        "gradients": {g.function_name: g.gradient_func for g in library.gradient},
        "devices": sorted({n.device for n in graph_def.node} - {""}),
    }


def init_op(meta) -> str | None:
    """Return the node that a loader runs once: in TF2 a signature, in TF1 a collection."""
    key = "__saved_model_init_op"
    if key in meta.signature_def:
        return meta.signature_def[key].outputs[key].name
    for key in ("saved_model_main_op", "legacy_init_op"):
        if key in meta.collection_def:
            return meta.collection_def[key].node_list.value[0]
    return None


def assets(meta) -> list[list[str]]:
    """Return the file name and tensor of each asset, from the field or, before 2.0, the collection."""
    packed = meta.collection_def["saved_model_assets"].any_list.value
    assets = meta.asset_file_def or [meta_graph_pb2.AssetFileDef.FromString(a.value) for a in packed]
    return sorted([a.filename, a.tensor_info.name] for a in assets)


def meta_graph(meta) -> dict:
    named = {n: s for n, s in meta.signature_def.items() if not n.startswith("__saved_model_")}
    return {
        "tags": sorted(meta.meta_info_def.tags),
        **graph(meta.graph_def, meta.meta_info_def.tensorflow_version),
        "signatures": {name: signature(s) for name, s in named.items()},
        "assets": assets(meta),
        "init_op": init_op(meta),
        "aliases": dict(meta.meta_info_def.function_aliases),
    }


def variables(prefix: Path) -> dict:
    """Return each tensor of a checkpoint, whole even if it is stored in slices."""
    reader = tf.train.load_checkpoint(str(prefix))
    types = reader.get_variable_to_dtype_map()
    return {name: sums.value(kind.name, array(reader.get_tensor(name))) for name, kind in types.items()}


def array(read) -> np.ndarray:
    return np.asarray(read, object if isinstance(read, bytes) else None)


def objects(prefix: Path) -> dict[str, str]:
    """Map checkpoint keys to variable names, according to the object graph in a checkpoint."""
    reader = tf.train.load_checkpoint(str(prefix))
    if not reader.has_tensor(OBJECT_GRAPH):
        return {}
    tree = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH))
    return {a.checkpoint_key: a.full_name for node in tree.nodes for a in node.attributes}


def checkpoint(prefix: Path) -> dict:
    if not (Path(f"{prefix}.index").exists() or prefix.is_file()):
        return {"variables": {}, "objects": {}}
    try:
        return {"variables": variables(prefix), "objects": objects(prefix)}
    except (tf.errors.OpError, RuntimeError) as error:
        return {"variables": {}, "objects": {}, "unreadable": first_words(error)}


def first_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:160]


def parse(path: Path, message):
    """Parse a message in binary or text format."""
    data = path.read_bytes()
    if path.suffix == ".pbtxt":
        return text_format.Parse(data.decode(), message)
    return message.FromString(data)


def newest_version(folder: Path) -> Path:
    numbered = [f for f in folder.iterdir() if f.name.isdecimal()] if folder.is_dir() else []
    is_model = any((folder / f"saved_model.{end}").exists() for end in ("pb", "pbtxt"))
    return folder if is_model or not numbered else max(numbered, key=lambda f: int(f.name))


def saved_model(folder: Path) -> dict:
    name = "saved_model.pb" if (folder / "saved_model.pb").exists() else "saved_model.pbtxt"
    proto = parse(folder / name, saved_model_pb2.SavedModel())
    out = {"kind": "saved_model", "graphs": [meta_graph(m) for m in proto.meta_graphs]}
    out |= checkpoint(folder / "variables" / "variables")
    if (folder / "fingerprint.pb").exists():
        print_ = tf.saved_model.experimental.read_fingerprint(str(folder))
        out["fingerprint"] = {k: v for k, v in vars(print_).items() if k != "version"}
    return out


def facts(path: Path) -> dict:
    """Return TensorFlow's facts about the model at a path."""
    path = newest_version(Path(path))
    if path.is_dir():
        return saved_model(path)
    if path.suffix == ".meta":
        meta = parse(path, meta_graph_pb2.MetaGraphDef())
        return {"kind": "meta_graph", "graphs": [meta_graph(meta)], **checkpoint(path.with_suffix(""))}
    if path.suffix == ".index":
        return {"kind": "checkpoint", "graphs": [], **checkpoint(path.with_suffix(""))}
    if path.suffix == ".json":
        return {"kind": "tfjs", "variables": {}, "objects": {}, "graphs": [meta_graph(tfjs.meta_graph(path))]}
    read = {"kind": "graph_def", "variables": {}, "objects": {}}
    return {**read, "graphs": [graph(parse(path, v1.GraphDef()))]}


def as_json(facts: dict) -> str:
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(as_json(facts(Path(sys.argv[1]))), end="")
