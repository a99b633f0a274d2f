"""Which arrays are which weights in files that list arrays by layer, as every `.h5` model does.

The list of a layer of the outermost model has its trainable weights, then the others; those of inner
layers follow their owner. A frozen layer has no trainable weights. Where the names of the arrays decide,
they count; else their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.formats.keras.records import StoredWeight, StoredWeights
from tfport.frontends.keras.instance import LayerInstance, WeightSlot
from tfport.frontends.keras.version import KerasVersion

OF_NO_LAYER = "top_level_model_weights"
"""Weights that a class of model has beside its layers."""
WeightList = tuple[str, list[WeightSlot], list[StoredWeight]]
"""The name of a layer, its weights, and the arrays for them in the same order."""
OwnedSlot = tuple[str, WeightSlot]
"""A weight with the name of the layer that owns it."""


def layer_lists(root: LayerInstance, stored: StoredWeights, version: KerasVersion) -> Iterator[WeightList]:
    """The weights of each layer of a model with their arrays."""
    layers = list(_listed(root, stored))
    names = [layer.name for layer in layers]
    with_arrays = [name for name, arrays in stored.lists.items() if arrays and name != OF_NO_LAYER]
    if set(names).isdisjoint(with_arrays) and len(names) == len(with_arrays):
        names = with_arrays  # the architecture of another build, with other names: their order counts
    elif version.major < 2:  # it does not store the names of Sequential models inside others
        others = iter(name for name in with_arrays if name not in names)
        names = [name if name in with_arrays else next(others, name) for name in names]
    for name, layer in zip(names, layers, strict=True):
        slots = weights_in_order(layer, version)
        arrays = stored.lists.get(name, [])
        yield layer.name, [slot for _, slot in slots], _by_names(slots, arrays) or list(arrays)


def _listed(model: LayerInstance, stored: StoredWeights) -> Iterator[LayerInstance]:
    """The layers with weights that have a list of their own.

    Keras 1 lists the layers of the models that a Merge layer joins, in place of the Merge layer.
    """
    for layer in model.ordered_children():
        if not any(True for _ in layer.every_weight()):
            continue
        inner = [below for branch in layer.children.values() for below in branch.children]
        if layer.name not in stored.lists and inner and any(name in stored.lists for name in inner):
            for branch in layer.ordered_children():
                yield from _listed(branch, stored)
        else:
            yield layer


def weights_in_order(layer: LayerInstance, version: KerasVersion) -> list[OwnedSlot]:
    """The weights of a layer and of the layers inside it, in the order of files by layer."""
    trainable, others = _split(layer, version)
    return trainable + others


def _split(layer: LayerInstance, version: KerasVersion) -> tuple[list[OwnedSlot], list[OwnedSlot]]:
    """The trainable weights and the others."""
    trainable = [(layer.name, slot) for slot in layer.weights.values() if slot.trainable]
    others = [(layer.name, slot) for slot in layer.weights.values() if not slot.trainable]
    inner = [_split(child, version) for child in layer.ordered_children()]
    inner_trainable = [slot for first, _ in inner for slot in first]
    inner_others = [slot for _, second in inner for slot in second]
    if layer.trainable:
        return trainable + inner_trainable, others + inner_others
    if layer.config.model is not None and version.major < 3:
        return [], trainable + inner_trainable + others + inner_others
    return [], trainable + others + [slot for first, second in inner for slot in first + second]


def _by_names(slots: Sequence[OwnedSlot], arrays: Sequence[StoredWeight]) -> list[StoredWeight] | None:
    """The array of each weight, if the names `layer/weight:0` leave no choice; else None."""
    by_name: dict[tuple[str, str], list[StoredWeight]] = {}
    for array in arrays:
        *owners, name = array.name.removesuffix(":0").split("/")
        for owner in set(owners):
            by_name.setdefault((owner, name), []).append(array)
    matches = [by_name.get((owner, slot.name), []) for owner, slot in slots]
    if any(len(candidates) != 1 for candidates in matches):
        return None
    chosen = [candidates[0] for candidates in matches]
    return chosen if len({id(array) for array in chosen}) == len(arrays) else None
