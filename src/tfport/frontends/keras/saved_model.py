"""The Keras model that a SavedModel was saved from: its configuration, with the weights of the checkpoint.

Keras 2 stores the configuration beside the graph. A model whose layers are all known can be built from it
and then be written as any Keras file; one of a class of its own is only in the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.errors import CannotRun
from tfport.formats.format import ModelLocation
from tfport.formats.keras.records import Json, KerasFile, StoredWeight, StoredWeights, TrackedObject
from tfport.formats.keras.saved_model import keras_config_of_saved_model, names_of_objects
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.keras.keras_model import keras_model
from tfport.frontends.keras.object_weights import layer_objects
from tfport.frontends.keras.tracked import SavedObjects, Table, tracked_weights
from tfport.graph.model import Model
from tfport.graph.tensors import Tensor

FILE = "saved_model.pb"
INITIALIZE = "_initialize"
LOOKUPS = ("StringLookup", "IntegerLookup", "TextVectorization")
INNER_LOOKUPS = ("_lookup_layer", "_index_lookup_layer")
TABLES = ("lookup_table", "_table", "_lookup_table")
"""The attributes of a lookup layer in TextVectorization, and of the table in a lookup layer."""
NO_KERAS_MODEL = (
    "a SavedModel without the configuration of a Keras model, which Keras 2 writes with `model.save`"
)


def keras_model_of(model: Model) -> KerasModel:
    """The Keras model in a SavedModel; CannotRun if it has no configuration of layers."""
    location = ModelLocation(model.format, model.files, FILE, model.where, is_folder=True)
    return keras_model(location, keras_file_of(model), model.graph.ops)


def keras_file_of(model: Model) -> KerasFile:
    """The configuration and the weights of the Keras model in a SavedModel."""
    file = keras_config_of_saved_model(model.files, model.meta.object_graph_def)
    if file is None:
        raise CannotRun(f"{model.where}: {NO_KERAS_MODEL}")
    file.where, file.weights = model.where, weights_of(model)
    if file.config is not None and file.weights is not None and file.weights.root is not None:
        file.config = with_vocabularies(file.config, file.weights.root)
    return file


def weights_of(model: Model) -> StoredWeights | None:
    """The weights in the checkpoint of a SavedModel; None if it has no checkpoint."""
    if model.checkpoint is None:
        return None
    objects = model.meta.object_graph_def
    names = names_of_objects(model.files, objects)
    return tracked_weights(
        model.checkpoint, SavedObjects(objects.nodes, names, dict(_tables_of_graph(model)))
    )


def _tables_of_graph(model: Model) -> Iterator[tuple[int, Table]]:
    """The keys and values of tables that constants of the graph fill when the model is loaded."""
    objects = model.meta.object_graph_def
    for number, node in enumerate(objects.nodes):
        initialize = next(
            (c.node_id for c in node.children if c.local_name == INITIALIZE), len(objects.nodes)
        )
        if node.WhichOneof("kind") != "resource" or not 0 <= initialize < len(objects.nodes):
            continue
        for name in objects.nodes[initialize].function.concrete_functions:
            bound = objects.concrete_functions[name].bound_inputs
            inside = [index for index in bound if 0 <= index < len(objects.nodes)]
            constants = [constant_of_object(model, index) for index in inside]
            filled = [constant for constant in constants if constant is not None]
            if len(filled) == 2:
                yield number, (filled[0], filled[1])


def constant_of_object(model: Model, number: int) -> StoredWeight | None:
    """The constant of the graph that an object of a SavedModel stands for."""
    saved = model.meta.object_graph_def.nodes[number]
    node = model.graph.find(saved.constant.operation) if saved.HasField("constant") else None
    value = node.attrs.get("value") if node is not None else None
    if node is None or not isinstance(value, Tensor):
        return None
    return StoredWeight(
        node.name, value.dtype.name, tuple(n or 0 for n in value.shape.dims or ()), value.numpy
    )


def with_vocabularies(stored: Mapping[str, Json], tracked: TrackedObject) -> Mapping[str, Json]:
    """A configuration with the vocabularies that layers learned, which only the checkpoint has."""
    config = stored.get("config")
    if not isinstance(config, Mapping) or not isinstance(config.get("layers"), list):
        return stored
    by_name = {inner.name: inner for inner in layer_objects(tracked) if inner.name}
    layers = [_with_vocabulary(layer, by_name) for layer in config["layers"]]
    return {**stored, "config": {**config, "layers": layers}}


def _with_vocabulary(layer: Json, by_name: Mapping[str, TrackedObject]) -> Json:
    config = layer.get("config") if isinstance(layer, Mapping) else None
    tracked = by_name.get(config.get("name", "")) if isinstance(config, Mapping) else None
    if tracked is None or not isinstance(config, Mapping):
        return layer
    if layer.get("class_name") not in LOOKUPS:
        return with_vocabularies(layer, tracked)
    tokens = _tokens(tracked)
    if config.get("vocabulary") is not None or tokens is None:
        return layer
    return {**layer, "config": {**config, "vocabulary": tokens}}


def _tokens(lookup: TrackedObject) -> list[Any] | None:
    """The vocabulary in the table of a lookup layer, in the order of its indices."""
    inner = next((lookup.children[name] for name in INNER_LOOKUPS if name in lookup.children), lookup)
    table = next((inner.children[name].table for name in TABLES if name in inner.children), None)
    if table is None:
        return None
    keys, values = (part.read().reshape(-1).tolist() for part in table)
    if any(isinstance(key, bytes) for key in values):  # an inverted table: from indices to tokens
        keys, values = values, keys
    ordered = [key for _, key in sorted(zip(values, keys, strict=True), key=lambda pair: pair[0])]
    return [key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else key for key in ordered]
