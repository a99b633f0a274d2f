"""Masks that Keras 3 stores as operations, and that Keras 2 passes from layer to layer itself.

A functional model of Keras 3 with `Embedding(mask_zero=True)` or `Masking` contains `NotEqual` layers, whose
results are the `mask` arguments of later calls. Keras 2 has no such layers and does not need them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.frontends.keras.config import LayerCall, LayerConfig, ModelConfig, TensorRef, every_ref

MASK, NOT_EQUAL = "mask", "NotEqual"


def without_implied_masks(model: ModelConfig) -> list[str]:
    """Remove masks that follow from the layers; returns the layers that were called with one."""
    changed = [
        name
        for layer in model.layers
        if layer.model is not None
        for name in without_implied_masks(layer.model)
    ]
    by_name = {layer.name: layer for layer in model.layers}
    sources = list(_sources_of_masks(model))
    removable: set[str] = set()
    for layer in model.layers:
        for number, call in enumerate(layer.calls):
            operations = _operations(call.kwargs.get(MASK), by_name, sources)
            if operations:
                removable |= operations
                kwargs = {name: value for name, value in call.kwargs.items() if name != MASK}
                layer.calls[number] = LayerCall(call.args, kwargs)
                changed.append(layer.name)
    _remove_unused(model, removable)
    return changed


def _sources_of_masks(model: ModelConfig) -> Iterator[tuple[TensorRef, Any]]:
    """Tensors with the value that a layer masks in them."""
    for layer in model.layers:
        value = layer.config.get("mask_value", 0.0) if layer.class_name == "Masking" else 0
        if layer.class_name == "Masking" or (
            layer.class_name == "Embedding" and layer.config.get("mask_zero")
        ):
            yield from ((ref, value) for call in layer.calls for ref in every_ref(call.args[:1]))


def _operations(
    mask: Any, layers: Mapping[str, LayerConfig], sources: list[tuple[TensorRef, Any]]
) -> set[str]:
    """The operations that compute a mask, if it follows from masking layers; otherwise none."""
    waiting, operations = list(every_ref(mask)), set[str]()
    while waiting:
        layer = layers.get(waiting.pop().layer)
        if layer is None or "ops" not in layer.module.split("."):
            return set()
        calls = layer.calls if layer.name not in operations else []
        operations.add(layer.name)
        for call in calls:
            if layer.class_name != NOT_EQUAL:
                waiting += every_ref([call.args, call.kwargs])
            elif len(call.args) != 2 or not isinstance(call.args[1], int | float) or call.args not in sources:
                return set()
    return operations


def _remove_unused(model: ModelConfig, removable: set[str]) -> None:
    """Remove operations whose results nothing uses any more."""
    while True:
        calls = [[call.args, call.kwargs] for layer in model.layers for call in layer.calls]
        used = {ref.layer for ref in every_ref([calls, model.outputs])}
        unused = [layer for layer in model.layers if layer.name in removable - used]
        if not unused:
            return
        for layer in unused:
            model.layers.remove(layer)
