"""Convert a model to TF1's form: one main graph, a saver, an init op, and no objects.

Every TensorFlow from 1.4 to the newest reads this form, in Python and in Serving. Calls are
inlined; functions remain only for branches and loops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tfport.errors import MalformedGraph
from tfport.fix.journal import Journal
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.prune import prune
from tfport.fix.structure.saver import restored_variables
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.inline import callee, inline
from tfport.graph.model import INIT_SIGNATURE, MAIN_OP, TRAIN_SIGNATURE, Model
from tfport.graph.reach import called_by, needed_by
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
    journal.changed("inlined", "Function calls are replaced with the function bodies.", calls)
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


# Function calls, which are inlined until none is left.

DEEPEST = 100
MOST_NODES = 2_000_000


def inline_calls(graph: Graph, ends: Iterable[Node]) -> list[tuple[str, str]]:
    """Inline the calls that these nodes need, also in functions of branches and loops; returns the calls."""
    last = list(ends)
    done = _inline_in(graph, last)
    for function in list(called_by(needed_by(last)).values()):
        done += _inline_in(function, function.ends)
    return done


def _inline_in(graph: Graph, ends: list[Node]) -> list[tuple[str, str]]:
    done: list[tuple[str, str]] = []
    for _ in range(DEEPEST):
        calls = [node for node in needed_by(ends) if node.op and callee(node) is not None]
        if not calls:
            return done
        for call in calls:
            done.append((call.name, call.op))
            try:
                inline(call)
            except MalformedGraph as error:
                raise StructureRefusal(str(error)) from None
        if len(graph) > MOST_NODES:
            break
    where = f"function {graph.name}" if isinstance(graph, Function) else "the graph"
    raise StructureRefusal(
        f"calls in {where} cannot be inlined: a function is recursive, or there are too many calls"
    )
