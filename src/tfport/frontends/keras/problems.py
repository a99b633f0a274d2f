"""What tfport does not build in a model: classes and options of all layers at once, wrapped ones too."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.errors import Error
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import INPUT_LAYER, LayerConfig, ModelConfig, layer_config
from tfport.frontends.keras.layer import TF_FUNCTION, catalog_name, find_layer, options_of
from tfport.frontends.keras.old_classes import is_newer
from tfport.frontends.keras.version import KerasVersion

LAMBDA, STACKED_CELLS = "Lambda", "StackedRNNCells"
CELLS = ("cell", "cells")
"""Options that hold what a recurrent layer runs at each step."""


def problems_of(model: ModelConfig, where: str, version: KerasVersion) -> list[str]:
    """A sentence part for each class and option that tfport does not build, without repetitions."""
    return list(dict.fromkeys(_in_model(model, where, version)))


def unknown_class(layer: LayerConfig) -> str:
    """Why a layer without a declaration is not built, and what to do."""
    if (name := catalog_name(layer)).startswith(TF_FUNCTION):
        return f"layer `{layer.name}` calls `{name}`, which tfport does not build"
    if layer.class_name == LAMBDA:
        return (
            f"layer `{layer.name}` is a Lambda, whose Python code tfport never runs; declare what it "
            f'computes with `@tfport.layer(name="{layer.name}")`'
        )
    return (
        f"layer `{layer.name}` is of the class `{layer.class_name}`, which tfport does not know; declare it "
        f'with `@tfport.layer("{layer.class_name}")`'
    )


def _in_model(model: ModelConfig, where: str, version: KerasVersion) -> Iterator[str]:
    for layer in model.layers:
        yield from _in_layer(layer, where, version)


def _in_layer(layer: LayerConfig, where: str, version: KerasVersion) -> Iterator[str]:
    if layer.model is not None:
        yield from _in_model(layer.model, where, version)
        return
    if layer.class_name == INPUT_LAYER:
        return
    declared = find_layer(layer)
    if declared is None:
        yield unknown_class(layer)
        return
    if is_newer(layer, declared, version):
        yield (
            f"layer `{layer.name}` is of the class `{layer.class_name}`, which Keras {version} did not have, "
            f'so it is custom; declare it with `@tfport.layer("{layer.class_name}")`'
        )
        return
    for problem in options_of(declared, layer.config)[1]:
        yield f"layer `{layer.name}` ({layer.class_name}): {problem}"
    for option in declared.wraps:
        for inner in _wrapped(layer.config.get(option), where):
            if option in CELLS and find_layer(inner) is None:
                yield unknown_cell(layer, inner.class_name)
            else:
                yield from _in_layer(inner, where, version)


def unknown_cell(layer: LayerConfig, class_name: str) -> str:
    """Why a recurrent layer with a cell of this class is not built."""
    return (
        f"layer `{layer.name}` ({layer.class_name}): its cell is of the class `{class_name}`, "
        f'which tfport does not know; declare it with `@tfport.layer("{class_name}", state_size=[...])`'
    )


def _wrapped(stored: Json, where: str) -> Iterator[LayerConfig]:
    """The layers that an option holds; what is no layer is reported when it is built."""
    if isinstance(stored, list):
        for entry in stored:
            yield from _wrapped(entry, where)
        return
    try:
        layer = layer_config(stored, where)
    except Error:
        return
    if layer.class_name == STACKED_CELLS:
        yield from _wrapped(layer.config.get("cells"), where)
    else:
        yield layer
