"""Load a model of any format, Keras and TensorFlow Lite files included, as a `Model`.

A model whose graph cannot be built is loaded all the same: it can be inspected and checked, and
`model.no_graph` says why it does not run.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.formats.format import ModelLocation
from tfport.graph.load import load_model
from tfport.graph.model import Model
from tfport.graph.op_signature import OpDefs, OpTable
from tfport.startup.garbage import gc_paused

KERAS = ("keras_h5", "keras_archive", "keras_json", "keras_weights", "tfjs_layers")
"""The keys of the formats of Keras."""


def load_any_model(location: ModelLocation, definitions: OpDefs, tags: Iterable[str] | None = None) -> Model:
    """Load the model at a location; `tags` choose one of several MetaGraphs of a SavedModel."""
    if location.format.key == "lite":
        from tfport.frontends.lite.load import load_lite  # imported here, as other models do not need it

        return load_lite(location, definitions)
    if location.format.key not in KERAS:
        return load_model(location, definitions, tags)
    return _keras_model(location, OpTable(definitions))


@gc_paused()
def _keras_model(location: ModelLocation, ops: OpTable) -> Model:
    # imported here, as other models do not need them
    from tfport.formats.keras.read import read_keras
    from tfport.frontends.keras.keras_model import keras_model

    return keras_model(location, read_keras(location.files, location.name), ops)


def load_with_weights(architecture: ModelLocation, weights: ModelLocation, definitions: OpDefs) -> Model:
    """A Keras model whose architecture is in one place and whose weights are in another.

    The architecture can be any Keras file or a Keras SavedModel, whose own weights do not count; the weights
    a Keras file, a SavedModel, or the checkpoint that `save_weights` writes.
    """
    from tfport.frontends.keras.separate_weights import separate_weights

    return separate_weights(architecture, weights, OpTable(definitions))
