"""Files that a layer keeps in a `.keras` archive, such as the vocabulary that it learned."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.formats.keras.records import KerasFile
from tfport.frontends.keras.config import LayerConfig, ModelConfig
from tfport.frontends.keras.layer import is_operation
from tfport.frontends.keras.weights import CONTAINERS, class_path, numbered


def layer_asset(file: KerasFile, model: ModelConfig, layer: LayerConfig, name: str) -> bytes | None:
    """A file of a layer; None if the archive has none."""
    if not file.assets:
        return None
    for container in CONTAINERS:
        for owner, path in _paths(model, container, ""):
            if owner is layer and (asset := f"{path}/{name}") in file.assets:
                return file.assets[asset]
    return None


def _paths(model: ModelConfig, container: str, path: str) -> Iterator[tuple[LayerConfig, str]]:
    """Each layer of a model, and of the models in it, with its path."""
    taken: dict[str, int] = {}
    for layer in model.layers:
        if is_operation(layer):
            continue
        layer_path = f"{path}{container}/{numbered(taken, class_path(layer))}"
        yield layer, layer_path
        if layer.model is not None:
            yield from _paths(layer.model, container, f"{layer_path}/")
