"""The Keras model that a SavedModel was saved from: its configuration, with the weights of the checkpoint.

Keras 2 stores the configuration beside the graph. A model whose layers are all known can be built from it
and then be written as any Keras file; one of a class of its own is only in the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.errors import CannotRun, Error
from tfport.formats.format import ModelLocation
from tfport.formats.keras.records import Json, KerasFile, StoredWeight, StoredWeights, TrackedObject
from tfport.formats.keras.saved_model import keras_config_of_saved_model, names_of_objects
from tfport.frontends.keras.instance import KerasModel, LayerInstance, OwnedWeight, WeightSlot
from tfport.frontends.keras.keras_model import keras_model
from tfport.frontends.keras.object_weights import layer_objects, object_lists
from tfport.frontends.keras.tracked import SavedObjects, Table, tracked_weights
from tfport.graph.model import Model
from tfport.graph.tensors import Tensor

FILE = "saved_model.pb"
INITIALIZE = "_initialize"
LOOKUPS = ("StringLookup", "IntegerLookup", "TextVectorization")
INNER_LOOKUPS = ("_lookup_layer", "_index_lookup_layer")
TABLES = ("lookup_table", "_table", "_lookup_table")
NORMALIZATION, MEANS = "Normalization", ("mean", "adapt_mean")
INPUT_SHAPE = "batch_input_shape"
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
        file.config = with_input_sizes(file.config, file.weights.root)
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


def owned_weights(model: Model) -> dict[str, OwnedWeight]:
    """The weights of the layers of a SavedModel by their keys in the checkpoint; none if it has no layers."""
    try:
        keras = keras_model_of(model)
        stored = keras.keras.weights if keras.keras is not None else None
        if keras.root is None or stored is None or stored.root is None:
            return {}
        pairs = list(object_lists(keras.root, stored.root))
    except Error:  # it is in the graph alone
        return {}
    owned = {id(slot): weight for slot, weight in _owned((keras.root,))}
    return {arrays[0].name: owned[id(slots[0])] for _, slots, arrays in pairs if slots and arrays}


def _owned(layers: tuple[LayerInstance, ...]) -> Iterator[tuple[WeightSlot, OwnedWeight]]:
    for slot in layers[-1].weights.values():
        yield slot, OwnedWeight(layers, slot.name)
    for child in layers[-1].children.values():
        yield from _owned((*layers, child))


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


def learned_sizes(model: Model) -> dict[str, int]:
    """The sizes of inputs that the configuration leaves open and a Normalization learned, by their layers.

    `adapt` sets the size of what such a layer reads; no release of Keras builds the layer without it.
    """
    file = keras_config_of_saved_model(model.files, model.meta.object_graph_def)
    weights = weights_of(model) if file is not None else None
    if file is None or file.config is None or weights is None or weights.root is None:
        return {}
    return _learned_sizes(file.config, weights.root)


def _learned_sizes(stored: Mapping[str, Json], tracked: TrackedObject) -> dict[str, int]:
    by_name = {inner.name: inner for inner in layer_objects(tracked) if inner.name}
    sizes: dict[str, int] = {}
    before = ""
    for layer in _layers(stored):
        name = str(layer["config"].get("name"))
        if name in by_name and (size := _learned_size(layer, by_name[name])) is not None:
            sizes |= dict.fromkeys((name, _source(layer) or before), size)
        before = name
    return {
        str(layer["config"]["name"]): sizes[layer["config"]["name"]]
        for layer in _layers(stored)
        if layer["config"].get("name") in sizes and _is_open(layer["config"].get(INPUT_SHAPE))
    }


def _layers(stored: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The layers of a stored model that have options."""
    config = stored.get("config")
    layers = config.get("layers") if isinstance(config, Mapping) else None
    return [layer for layer in layers if _has_options(layer)] if isinstance(layers, list) else []


def _has_options(layer: Json) -> bool:
    return isinstance(layer, Mapping) and isinstance(layer.get("config"), Mapping)


def _learned_size(layer: Mapping[str, Json], tracked: TrackedObject) -> int | None:
    """The size of the last axis of what a Normalization reads, by its mean."""
    if layer.get("class_name") != NORMALIZATION or layer["config"].get("axis") not in (-1, [-1]):
        return None
    means = [tracked.children[name].weight for name in MEANS if name in tracked.children]
    return next((mean.shape[0] for mean in means if mean is not None and len(mean.shape) == 1), None)


def _source(layer: Mapping[str, Json]) -> str:
    """The layer that another one of a functional model reads."""
    try:
        return str(layer["inbound_nodes"][0][0][0])
    except (KeyError, IndexError, TypeError):
        return ""


def _is_open(shape: Json) -> bool:
    return isinstance(shape, list) and len(shape) > 1 and shape[-1] is None


def with_input_sizes(stored: Mapping[str, Json], tracked: TrackedObject) -> Mapping[str, Json]:
    """A configuration with the sizes of inputs that layers learned."""
    if not (sizes := _learned_sizes(stored, tracked)):
        return stored
    layers = [
        _with_size(layer, sizes[layer["config"]["name"]])
        if _has_options(layer) and layer["config"].get("name") in sizes
        else layer
        for layer in stored["config"]["layers"]
    ]
    return {**stored, "config": {**stored["config"], "layers": layers}}


def _with_size(layer: Mapping[str, Json], size: int) -> Json:
    shape = [*layer["config"][INPUT_SHAPE][:-1], size]
    return {**layer, "config": {**layer["config"], INPUT_SHAPE: shape}}
