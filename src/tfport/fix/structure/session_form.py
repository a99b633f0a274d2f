"""Convert a model to TF1's form: one main graph, a saver, an init op, and no objects.

Every TensorFlow from 1.4 to the newest reads this form, in Python and in Serving. Calls are
inlined; functions remain only for branches and loops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tfport.fix.journal import Journal
from tfport.fix.structure.calls import inline_calls
from tfport.fix.structure.checkpoint_tensors import restored_variables
from tfport.fix.structure.prune import prune
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.graph import Node
from tfport.graph.model import INIT_SIGNATURE, MAIN_OP, TRAIN_SIGNATURE, Model
from tfport.graph.state import GraphVariable, asset_definitions

ASSET_COLLECTION = "saved_model_assets"
ASSET_TYPE = "type.googleapis.com/tensorflow.AssetFileDef"


def to_session_form(model: Model, ends: Sequence[Node], journal: Journal) -> dict[Node, GraphVariable]:
    """Flatten a model to what these nodes and its init op need; returns the restored variables.

    The caller decides how they are restored: by a saver (`saver`), or not at all if they become
    constants (`freeze`).
    """
    variables = restored_variables(model)
    first = [node for node in model.init_nodes if node.op != "NoOp" or node.controls]
    assets = list(asset_definitions(model.meta))
    calls = inline_calls(model.graph, [*ends, *first])
    journal.changed("inlined", "Function calls are replaced by the bodies of the functions.", calls)
    prune(model, [*ends, *first], journal)
    _rewrite_meta(model.meta, [node.name for node in first], assets, model.graph.nodes)
    return {
        node: variable for node, variable in variables.items() if model.graph.nodes.get(node.name) is node
    }


def _rewrite_meta(
    meta: pb.MetaGraphDef, first: Iterable[str], assets: Sequence[pb.AssetFileDef], names: Collection[str]
) -> None:
    """Drop metadata about objects and removed nodes; write assets and the init op as TF1 does."""
    for name in (INIT_SIGNATURE, TRAIN_SIGNATURE):
        meta.signature_def.pop(name, None)
    for field in ("object_graph_def", "collection_def", "saver_def", "asset_file_def"):
        meta.ClearField(field)
    meta.meta_info_def.ClearField("function_aliases")
    for name in first:
        meta.collection_def[MAIN_OP].node_list.value.append(name)
    meta.asset_file_def.extend(a for a in assets if a.tensor_info.name.partition(":")[0] in names)


def collect_assets(meta: pb.MetaGraphDef) -> None:
    """List the assets also in TF1's collection: releases before 1.13 read only that."""
    if ASSET_COLLECTION not in meta.collection_def:
        for asset in meta.asset_file_def:
            packed = meta.collection_def[ASSET_COLLECTION].any_list.value.add()
            packed.type_url, packed.value = ASSET_TYPE, asset.SerializeToString()
