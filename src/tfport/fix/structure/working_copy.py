"""Copy a model, so that a rewrite does not change the original."""

from __future__ import annotations

from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.model import Model
from tfport.startup.dataclass import replace


def working_copy(model: Model) -> Model:
    """Copy the MetaGraph and graph of a model; weights are still read from its files."""
    meta = pb.MetaGraphDef()
    meta.CopyFrom(model.meta)
    graph = graph_from_def(graph_to_def(model.graph), model.graph.ops)
    tag_sets = [model.tags] if model.tag_sets else []
    return replace(model, graph=graph, meta=meta, tag_sets=tag_sets, asked_tags=False, fingerprint=None)
