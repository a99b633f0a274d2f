"""Read a Keras HDF5 file: a whole model, or weights in either layout."""

from __future__ import annotations

from tfport.errors import NotAModel
from tfport.formats.hdf5.file import Hdf5Group, Hdf5Link
from tfport.formats.keras.records import KerasFile, StoredWeights, UnsafeContent
from tfport.formats.keras.stored_json import json_attribute, stored_model, text_attribute
from tfport.formats.keras.stored_weights import (
    has_layer_weights,
    has_path_weights,
    layer_weights,
    path_weights,
)
from tfport.formats.keras.unsafe import unsafe_config

CONFIG, TRAINING, VERSION, BACKEND = "model_config", "training_config", "keras_version", "backend"
MODEL_WEIGHTS = "model_weights"


def is_whole_model(root: Hdf5Group) -> bool:
    return CONFIG in root.attributes


def has_weights(root: Hdf5Group) -> bool:
    return has_layer_weights(root.attributes) or has_path_weights(root)


def read_h5(root: Hdf5Group) -> KerasFile:
    """The model or the weights of an HDF5 file."""
    where = root.source.where
    if not is_whole_model(root) and not has_weights(root):
        raise NotAModel(f"{where}: an HDF5 file, but without a Keras model or its weights")
    config = json_attribute(root.attributes, CONFIG, where)
    unsafe: list[UnsafeContent] = []
    inner = root.find(MODEL_WEIGHTS)
    if isinstance(inner, Hdf5Link):
        unsafe.append(UnsafeContent("link", MODEL_WEIGHTS, inner.target))
    group = inner if isinstance(inner, Hdf5Group) else root
    attributes = {**group.attributes, **root.attributes}
    weights = stored_weights(group, unsafe)
    if config is not None:
        config = stored_model(config, f"{where}: {CONFIG}")
        unsafe += unsafe_config(config)
    return KerasFile(
        where=where,
        layout="weights" if config is None else "h5",
        config=config,
        weights=weights,
        keras_version=text_attribute(attributes, VERSION),
        backend=text_attribute(attributes, BACKEND),
        training=json_attribute(root.attributes, TRAINING, where),
        unsafe=unsafe,
    )


def stored_weights(group: Hdf5Group, unsafe: list[UnsafeContent]) -> StoredWeights | None:
    """The weights below a group; None if it has none."""
    if has_layer_weights(group.attributes):
        return layer_weights(group, unsafe)
    return path_weights([group], unsafe) if has_path_weights(group) else None
