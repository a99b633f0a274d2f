"""A model that was read from a Keras file: its graph, and the layers that the graph was built from."""

from __future__ import annotations

from tfport.frontends.keras.instance import LayerInstance
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass


@dataclass
class KerasModel(Model):
    """A Keras model; `keras` has what its file says."""

    root: LayerInstance | None = None
    """The layers, as far as they could be built; None if the file has no architecture."""
