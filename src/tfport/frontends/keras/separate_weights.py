"""A Keras model from an architecture and weights that were saved apart."""

from __future__ import annotations

from tfport.errors import Error
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.format import ModelLocation
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import KerasFile, StoredWeights
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.keras.keras_model import keras_model
from tfport.frontends.keras.saved_model import keras_file_of, weights_of
from tfport.frontends.keras.tracked import tracked_weights
from tfport.graph.load import load_model
from tfport.graph.op_signature import OpTable

KERAS = "keras"
"""How the keys of the formats of Keras files begin."""


def separate_weights(architecture: ModelLocation, weights: ModelLocation, ops: OpTable) -> KerasModel:
    """The model of an architecture with the weights of another file."""
    file = _architecture(architecture, ops)
    file.weights, version = _weights(weights, ops)
    file.keras_version = file.keras_version or version
    file.weights_from = weights.where
    file.notes = [f"the weights are those of {weights.where}"]
    if file.layout not in ("json", "keras", "h5"):
        file.layout = "json"
    return keras_model(architecture, file, ops)


def _architecture(location: ModelLocation, ops: OpTable) -> KerasFile:
    if location.format is SAVED_MODEL:
        return keras_file_of(load_model(location, ops.definitions))
    if not location.format.key.startswith(KERAS):
        raise Error(f"{location.where}: {location.format.name} has no architecture of a Keras model")
    return read_keras(location.files, location.name)


def _weights(location: ModelLocation, ops: OpTable) -> tuple[StoredWeights, str]:
    """The weights, and the version of Keras that saved them, if the file says it."""
    if location.format is CHECKPOINT:
        return tracked_weights(open_checkpoint(location.files, location.name)), ""
    if location.format is SAVED_MODEL:
        weights, version = weights_of(load_model(location, ops.definitions)), ""
    elif location.format.key.startswith(KERAS):
        file = read_keras(location.files, location.name)
        weights, version = file.weights, file.keras_version
    else:
        raise Error(f"{location.where}: {location.format.name} has no weights of a Keras model")
    if weights is None:
        raise Error(f"{location.where}: has no weights")
    return weights, version
