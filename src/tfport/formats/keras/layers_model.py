"""Read a TensorFlow.js layers model: a Keras configuration and weights in files beside it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.files import Files
from tfport.formats.keras.records import BY_LAYER, Json, KerasFile, StoredWeight, StoredWeights
from tfport.formats.keras.stored_json import json_object, stored_model, text_of
from tfport.formats.keras.unsafe import unsafe_config
from tfport.formats.tfjs.weights import TfjsWeights

CAMEL_CASE = re.compile(r"[a-z][a-z0-9]*([A-Z][a-z0-9]*)+")
"""A key as people write it by hand: TensorFlow.js spells all keys so after reading (convertPythonicToTs)."""
WORDS = ("activation", "recurrent_activation", "data_format")
"""Options whose values have several words, spelled in the same way: `hardSigmoid`, `channelsLast`."""
BY_NAME = ("inbound_nodes", "input_layers", "output_layers")
"""What refers to layers and tensors by names, which stay as they are."""


def read_layers_model(files: Files, name: str) -> KerasFile:
    """The layers model in a `model.json`."""
    label = files.label(name)
    data = json_object(files.map(name), label)
    topology = data.get("modelTopology", data.get("model_topology"))
    if not isinstance(topology, dict):
        raise UnreadableFile(f"{label}: expected a Keras model in `modelTopology`, found none")
    nested = topology.get("model_config")  # converted from Keras; TensorFlow.js itself writes no such level
    config = stored_model(
        _as_keras_writes(nested if isinstance(nested, dict) else topology), f"{label}: modelTopology"
    )
    training = topology.get("training_config", data.get("trainingConfig"))
    manifest = data.get("weightsManifest", data.get("weights_manifest"))
    beside = files.under(posixpath.dirname(name))
    return KerasFile(
        where=label,
        layout="tfjs",
        config=config,
        weights=None if manifest is None else _weights(TfjsWeights(manifest, beside, label), config),
        keras_version=text_of(topology.get("keras_version")),
        backend=text_of(topology.get("backend")),
        training=training if isinstance(training, dict) else None,
        generated_by=text_of(data.get("convertedBy")) or text_of(data.get("generatedBy")),
        unsafe=unsafe_config(config),
    )


def _as_keras_writes(stored: Json) -> Any:
    """A configuration with the keys of Keras, `batch_input_shape`, where it has `batchInputShape`."""
    if isinstance(stored, list):
        return [_as_keras_writes(entry) for entry in stored]
    if not isinstance(stored, dict):
        return stored
    renamed = {_with_underscores(key): value for key, value in stored.items()}
    result = {k: v if k in BY_NAME else _as_keras_writes(v) for k, v in renamed.items()}
    for key in WORDS:
        if isinstance(result.get(key), str):
            result[key] = _with_underscores(result[key])
    return result


def _with_underscores(word: str) -> str:
    return re.sub(r"(?=[A-Z])", "_", word).lower() if CAMEL_CASE.fullmatch(word) else word


def _weights(stored: TfjsWeights, config: Mapping[str, Json]) -> StoredWeights:
    """The weights by layer of the outermost model, in the order of the manifest."""
    owners = dict(_owners(config))
    model = f"{_name(config)}/"
    lists: dict[str, list[StoredWeight]] = {}
    for group in stored.groups:
        for weight in group.weights:
            entry = weight.entry
            # those of Keras 3 start with the model's name; TensorFlow.js finds none of them
            inside = entry.name.removeprefix(model)
            own = inside if _owner(inside, owners) in owners else entry.name
            read = partial(stored.read, entry.name)
            dtype = NUMPY[entry.dtype]
            name = "string" if dtype.kind == "O" else str(dtype)
            lists.setdefault(_owner(own, owners), []).append(StoredWeight(own, name, entry.shape, read))
    return StoredWeights(BY_LAYER, lists, tfjs=stored)


def _owner(weight: str, owners: Mapping[str, str]) -> str:
    """The outermost layer of a weight: the longest start of its name that is a layer."""
    parts = weight.split("/")
    starts = ("/".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next((owners[start] for start in starts if start in owners), parts[0])


def _owners(config: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Each layer, and the layer of the outermost model that contains it; the outer ones last."""
    outermost = list(_layers(config))
    for layer in outermost:
        inner = [layer]
        for owner in inner:  # grows during the loop
            inner += _layers(owner)
        yield from ((_name(owner), _name(layer)) for owner in inner)
    yield from ((_name(layer), _name(layer)) for layer in outermost)


def _layers(owner: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The layers directly in a model or wrapper."""
    config = owner.get("config")
    layers = config.get("layers") if isinstance(config, dict) else config
    if isinstance(layers, list):
        yield from (layer for layer in layers if isinstance(layer, dict))
    if isinstance(config, dict) and isinstance(wrapped := config.get("layer"), dict):
        yield wrapped


def _name(layer: Mapping[str, Json]) -> str:
    config = layer.get("config")
    inner = config.get("name") if isinstance(config, dict) else None
    return text_of(inner) or text_of(layer.get("name"))
