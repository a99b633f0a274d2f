"""Build the tasks of `capi_probe` for a question: what each loader needs, read from the model.

The order of init ops is that of the C++ loader: a signature `__saved_model_init_op`
since 1.13, the main op, the legacy init op.
"""

from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto.graph_pb2 import DT_INT64, DT_STRING
from tfport.formats.proto.saved_model_pb2 import (
    AssetFileDef,
    MetaGraphDef,
    SavedModel,
    SignatureDef,
    TensorInfo,
)

TAGS = {"serve"}
INIT_SIGNATURE = "__saved_model_init_op"
INIT_COLLECTIONS = "saved_model_main_op", "legacy_init_op"
ASSETS = "saved_model_assets"
VARIABLES = "variables/variables"
INIT_SIGNATURES, NO_SAVER = (1, 13), (2, 4)
"""First releases whose C++ loader looks for an init op among the signatures, and which skips variables
that no saver restores."""


def tasks(question: dict, root: Path, scratch: Path, release: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return a task for each loader; only the one of `capi` if there is no MetaGraph to load."""
    model = root / question["path"]
    meta = meta_graph(model)
    asked = signatures(question, meta or MetaGraphDef())
    out: list[dict[str, Any]] = [{"loader": "capi", "model": str(model), "signatures": asked}]
    if meta is None:
        return out
    graph = scratch / f"{len(list(scratch.iterdir()))}.pb"
    graph.write_bytes(meta.graph_def.SerializeToString())
    simulated = {"loader": "serving", "graph": str(graph), "signatures": asked}
    startup = {"restore": restore(model, meta, release), "init": init_op(meta, release)}
    return [*out, simulated | startup | {"assets": assets(model, meta)}]


def meta_graph(model: Path) -> MetaGraphDef | None:
    """Return the MetaGraph to serve, or None if the files have none."""
    try:
        if (text := model / "saved_model.pbtxt").exists():
            saved = text_format.Parse(text.read_bytes(), SavedModel())
        else:
            saved = SavedModel.FromString((model / "saved_model.pb").read_bytes())
    except (OSError, DecodeError):
        return None
    return next((g for g in saved.meta_graphs if set(g.meta_info_def.tags) == TAGS), None)


def signatures(question: dict, meta: MetaGraphDef) -> dict[str, Any]:
    known = meta.signature_def
    wanted = question["signatures"].items()
    return {name: asked(known[name], values) if name in known else None for name, values in wanted}


def asked(signature: SignatureDef, values: dict) -> dict[str, Any]:
    feeds: dict[str, list] = {}
    for name, value in values.items():
        feeds |= fed(signature.inputs[name], value)
    fetches = [name for output in signature.outputs.values() for name in tensors(output)]
    return {"feeds": feeds, "fetches": fetches}


def fed(info: TensorInfo, value: Any) -> dict[str, list]:
    """Return the tensors to feed for an input: one, or three for a sparse input."""
    if not info.HasField("coo_sparse"):
        return {info.name: to_tensor(info.dtype, value)}
    sparse = info.coo_sparse
    return {
        sparse.indices_tensor_name: to_tensor(DT_INT64, value["indices"]),
        sparse.values_tensor_name: to_tensor(info.dtype, value["values"]),
        sparse.dense_shape_tensor_name: to_tensor(DT_INT64, value["shape"]),
    }


def tensors(info: TensorInfo) -> list[str]:
    """Return the tensors of an output: one, or the components of a sparse or ragged output."""
    sparse = info.coo_sparse
    parts = [part for part in info.composite_tensor.components for part in tensors(part)]
    names = [sparse.values_tensor_name, sparse.indices_tensor_name, sparse.dense_shape_tensor_name]
    return [name for name in (info.name, *names, *parts) if name]


def to_tensor(dtype: int, value: Any) -> list:
    array = np.array(value, object if dtype == DT_STRING else NUMPY[dtype])
    return [dtype, list(array.shape), array.ravel().tolist()]


def restore(model: Path, meta: MetaGraphDef, release: tuple[int, ...]) -> dict[str, str] | None:
    """Return how to restore variables, or None if there is no index or nothing restores them."""
    saver = meta.saver_def
    needs_no_saver = release >= NO_SAVER and not saver.restore_op_name
    if needs_no_saver or not (model / f"{VARIABLES}.index").exists():
        return None
    return {"feed": saver.filename_tensor_name, "path": str(model / VARIABLES), "op": saver.restore_op_name}


def init_op(meta: MetaGraphDef, release: tuple[int, ...]) -> str | None:
    if release >= INIT_SIGNATURES and INIT_SIGNATURE in meta.signature_def:
        return meta.signature_def[INIT_SIGNATURE].outputs[INIT_SIGNATURE].name
    key = next((key for key in INIT_COLLECTIONS if key in meta.collection_def), None)
    return meta.collection_def[key].node_list.value[0] if key else None


def assets(model: Path, meta: MetaGraphDef) -> dict[str, str]:
    """Return the path of each asset: listed in the MetaGraph, before 2.0 only in a collection."""
    packed = meta.collection_def[ASSETS].any_list.value if ASSETS in meta.collection_def else ()
    listed = meta.asset_file_def or [AssetFileDef.FromString(p.value) for p in packed]
    return {a.tensor_info.name: str(model / "assets" / a.filename) for a in listed}
