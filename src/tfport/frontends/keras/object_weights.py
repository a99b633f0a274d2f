"""The weights of layers that a TensorFlow checkpoint has as attributes of Python objects.

The layers of a model are its attributes `layer-0`, `layer-1` and so on, in the order of the configuration; a
Sequential model does not count its input. What is inside a layer has the name of the attribute that refers
to it: `cell`, `cells` with `0`, `1`, `_query_dense`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfport.errors import UnreadableFile
from tfport.formats.keras.records import StoredWeight, TrackedObject
from tfport.frontends.keras.config import INPUT_LAYER
from tfport.frontends.keras.instance import LayerInstance, WeightSlot

LAYER = re.compile(r"layer-(\d{1,9})")
ATTRIBUTES = {"mean": "adapt_mean", "variance": "adapt_variance"}
"""Attributes that some releases name otherwise than the weight."""
OF_TRACKING = ("variables", "trainable_variables", "non_trainable_variables", "regularization_losses")
"""Attributes with lists of weights that other attributes have too."""


def object_lists(
    layer: LayerInstance, stored: TrackedObject
) -> Iterator[tuple[str, list[WeightSlot], list[StoredWeight]]]:
    """Each weight of a layer and of the layers inside it with its array; then arrays without a weight."""
    taken: set[int] = set()
    for name, slot in layer.weights.items():
        variable = _attribute(stored, name) or _attribute(stored, ATTRIBUTES.get(name, name))
        weight = variable.weight if variable is not None else None
        taken.add(id(variable))
        yield layer.name, [slot], [] if weight is None else [weight]
    others = [
        child.weight
        for attribute, child in stored.children.items()
        if child.weight is not None and id(child) not in taken and attribute not in OF_TRACKING
    ]
    if others:
        yield layer.name, [], others
    if layer.config.model is not None:
        pairs = _layers(layer, stored)
    else:
        pairs = [(child, _at(stored, attribute)) for attribute, child in layer.children.items()]
    for child, inner in pairs:
        yield from object_lists(child, inner if inner is not None else TrackedObject())


def _at(stored: TrackedObject, attribute: str) -> TrackedObject | None:
    """The object at an attribute, or at an element of a list: `cells/0`."""
    reached: TrackedObject | None = stored
    for part in attribute.split("/"):
        reached = _attribute(reached, part) if reached is not None else None
    return reached


def _attribute(stored: TrackedObject, name: str) -> TrackedObject | None:
    """An attribute, which some classes keep private."""
    return stored.children.get(name) or stored.children.get(f"_{name}")


def _layers(model: LayerInstance, stored: TrackedObject) -> list[tuple[LayerInstance, TrackedObject | None]]:
    """The layers of a model with their objects: by name where the file has names, else in order."""
    objects = layer_objects(stored)
    by_name = {inner.name: inner for inner in objects}
    children = list(model.ordered_children())
    if all(child.name in by_name for child in children if _has_weights(child)):
        return [(child, by_name.get(child.name)) for child in children]
    assert model.config.model is not None
    names = [layer.name for layer in model.config.model.layers]
    inputs = [layer.name for layer in model.config.model.layers if layer.class_name == INPUT_LAYER]
    if len(objects) != len(names):
        names = [name for name in names if name not in inputs]
    if len(objects) != len(names) or any(inner.name for inner in objects):
        raise UnreadableFile(
            f"model `{model.name}` has {len(names)} layers, and the checkpoint {len(objects)} or others: "
            f"{', '.join(_shown(objects)) or 'none'}"
        )
    by_order = dict(zip(names, objects, strict=True))
    return [(child, by_order.get(child.name)) for child in children]


def layer_objects(stored: TrackedObject) -> Sequence[TrackedObject]:
    """The layers of a model in their order."""
    numbers = [(match, inner) for name, inner in stored.children.items() if (match := LAYER.fullmatch(name))]
    return [inner for match, inner in sorted(numbers, key=lambda pair: int(pair[0][1]))]


def _shown(objects: Sequence[TrackedObject]) -> list[str]:
    names = [f"`{inner.name}`" for inner in objects if inner.name]
    return [*names[:8], "…"] if len(names) > 8 else names


def _has_weights(layer: LayerInstance) -> bool:
    return any(True for _ in layer.every_weight())
