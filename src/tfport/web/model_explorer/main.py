"""The adapter that Model Explorer loads: every model that tfport reads, as graphs.

A model is only read. Model Explorer chooses adapters by the end of a file's name, so a SavedModel is
opened by its `saved_model.pb`.
"""

from __future__ import annotations

from typing import Any

try:
    from model_explorer import Adapter, AdapterMetadata, ModelExplorerGraphs
    from model_explorer.graph_builder import GraphCollection
except ImportError:
    raise ImportError("model_explorer is not installed: pip install ai-edge-model-explorer") from None

import tfport
from tfport.errors import Error
from tfport.formats.keras.signature import EXTENSIONS as KERAS
from tfport.formats.lite.signature import EXTENSIONS as LITE
from tfport.graph.model import Model
from tfport.startup.garbage import gc_paused
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.model_explorer.explorer_graph import explorer_graph
from tfport.web.model_explorer.shown_graphs import ShownGraphs

GRAPHS = ("pb", "pbtxt", "graphdef", "meta", "json")
ARCHIVES = ("zip", "tar", "tgz", "gz")


class TfportAdapter(Adapter):  # type: ignore[misc]
    """Reads models for Model Explorer."""

    metadata = AdapterMetadata(
        id="tfport",
        name="tfport",
        description="Reads SavedModel, GraphDef, MetaGraph, Keras, TensorFlow Lite and TensorFlow.js models "
        "without TensorFlow, and never executes them.",
        fileExts=[*GRAPHS, *(extension.removeprefix(".") for extension in (*KERAS, *LITE)), *ARCHIVES],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> ModelExplorerGraphs:
        """The graphs of a model, those to show first at the front."""
        return {"graphCollections": explorer_graphs(tfport.load(model_path))}


@gc_paused()
def explorer_graphs(model: Model) -> list[GraphCollection]:
    """All graphs of a model; an error if it has none.

    Model Explorer shows the largest graph of the first collection. Both collections have the label of the
    file, so that data of nodes is for both.
    """
    shown = ShownGraphs(ModelGraphs(model))
    if not any(summary.nodes for _, summary in shown.graphs.values()):
        raise Error(f"{model.where}: there is no graph, only stored tensors")
    others = [id for id in shown.graphs if id not in shown.at_first]
    return [
        GraphCollection(label="", graphs=[explorer_graph(shown, id) for id in ids])
        for ids in (shown.at_first, others)
        if ids
    ]
