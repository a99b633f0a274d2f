"""Choose inputs for the recorded models of tests/models: small values of their signatures' shapes.

An unknown dimension is 2; a string is "a"; a sparse tensor has one element. `feeds.toml`
has values for signatures that need others, such as serialized tf.train.Examples.
"""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from capi_tasks import INIT_SIGNATURE, meta_graph

from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto.graph_pb2 import DT_BOOL, DT_STRING, TensorShapeProto
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef, SignatureDef, TensorInfo

FEEDS = Path(__file__).with_name("feeds.toml")
OPEN = 2


def questions_about_recorded_models(root: Path) -> dict[str, Any]:
    overrides = tomllib.loads(FEEDS.read_text())
    folders = sorted(path.parent for path in (root / "tests/models").rglob("saved_model.pb*"))
    return {f"models/{name_of(folder, root)}": question(folder, root, overrides) for folder in folders}


def name_of(folder: Path, root: Path) -> str:
    return str(folder.relative_to(root / "tests/models"))


def question(folder: Path, root: Path, overrides: dict) -> dict[str, Any]:
    name, graph = name_of(folder, root), meta_graph(folder) or MetaGraphDef()
    asked = {key: s for key, s in sorted(graph.signature_def.items()) if key != INIT_SIGNATURE}
    feeds = {key: sampled(s) | overrides.get(name, {}).get(key, {}) for key, s in asked.items()}
    about = f"the recorded model {name}, written by TensorFlow 2.21"
    return {"path": str(folder.relative_to(root)), "about": about, "signatures": feeds}


def sampled(signature: SignatureDef) -> dict[str, Any]:
    return {name: values(info) for name, info in sorted(signature.inputs.items())}


def values(info: TensorInfo) -> Any:
    if info.HasField("coo_sparse"):
        return {"indices": [[0]], "values": [element(info)], "shape": [1]}
    return np.full(sizes(info.tensor_shape), element(info), kind(info)).tolist()


def kind(info: TensorInfo) -> Any:
    return None if info.dtype == DT_STRING else NUMPY[info.dtype]


def element(info: TensorInfo) -> Any:
    return {DT_STRING: "a", DT_BOOL: True}.get(info.dtype, 1)


def sizes(shape: TensorShapeProto) -> list[int]:
    return [] if shape.unknown_rank else [OPEN if dim.size < 0 else dim.size for dim in shape.dim]
