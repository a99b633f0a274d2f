"""Give the weights of a built model the arrays of its file.

Which array belongs to which weight depends on the layout. Files that list arrays by layer, as every `.h5`
model does, are in `layer_lists`; those with a path for each object, as `.keras` files have, in `path_lists`;
TensorFlow checkpoints in `object_weights`.
Everything that is missing or does not have the expected shape is reported in one error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.keras.records import BY_LAYER, BY_PATH, KerasFile, StoredWeight, StoredWeights
from tfport.frontends.keras.config import LayerConfig
from tfport.frontends.keras.instance import LayerInstance, StoredForm, WeightSlot
from tfport.frontends.keras.layer import is_operation
from tfport.frontends.keras.object_weights import object_lists
from tfport.frontends.keras.version import KerasVersion
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_PROBLEMS = 12


def set_weights(
    root: LayerInstance, file: KerasFile, slots: Sequence[WeightSlot], version: KerasVersion
) -> None:
    """Set the values of all weights; UnreadableFile if the file does not have them."""
    if not slots:
        return
    if file.weights is None:
        raise UnreadableFile(
            f"{file.where}: has an architecture but no weights; put the weights file next to it, or save the "
            "whole model with model.save"
        )
    lists: Iterable[WeightList]
    if file.weights.root is not None:
        lists = object_lists(root, file.weights.root)
    elif file.weights.layout == BY_LAYER:
        lists = layer_lists(root, file.weights, version)
    else:
        lists = path_lists(root, file.weights)
    problems = [problem for owner, expected, stored in lists for problem in _assign(owner, expected, stored)]
    if len(problems) > MOST_PROBLEMS:
        problems[MOST_PROBLEMS:] = [f"and {len(problems) - MOST_PROBLEMS} more"]
    if problems:
        raise UnreadableFile(f"{file.where}: {'; '.join(problems)}")


def _assign(owner: str, expected: Sequence[WeightSlot], stored: Sequence[StoredWeight]) -> Iterator[str]:
    """Set the weights of one list of arrays; yields what is wrong."""
    if len(stored) > len(expected):
        names = ", ".join(f"`{slot.name}`" for slot in expected) or "none"
        yield f"layer `{owner}` has {len(stored)} arrays in the file; expected {len(expected)}: {names}"
        return
    for index, slot in enumerate(expected):
        where = f"layer `{owner}`: its weight `{slot.name}`"
        if index >= len(stored):
            yield f"{where} is not in the file"
        elif (form := slot.form_of(stored[index].shape)) is None:
            shapes = " or ".join(str(form.shape) for form in slot.forms) or slot.shape
            yield f"{where} has the shape {stored[index].shape} in the file; expected {shapes}"
        else:
            load = _Elements(stored[index], slot, form)
            slot.node.attrs["value"] = Tensor(slot.dtype, Shape(slot.shape), load=load)


@dataclass(frozen=True, slots=True)
class _Elements:
    """Reads the elements of a weight when called."""

    stored: StoredWeight
    slot: WeightSlot
    form: StoredForm

    def __call__(self) -> NDArray[Any]:
        import numpy as np  # imported here, as `inspect` does not need it

        array = np.asarray(self.stored.read()).transpose(self.form.order).reshape(self.slot.shape)
        # with `...`, an array without axes stays an array
        transposed: tuple[Any, ...] = (slice(None, None, -1),) * self.form.reversed_axes
        array = array[(*transposed, ...)]
        return array.astype(self.slot.dtype.numpy, copy=False)


# Lists by layer

OF_NO_LAYER = "top_level_model_weights"
"""Weights that a class of model has beside its layers."""
WeightList = tuple[str, list[WeightSlot], list[StoredWeight]]
"""The name of a layer, its weights, and the arrays for them in the same order."""
OwnedSlot = tuple[str, WeightSlot]
"""A weight with the name of the layer that owns it."""


def layer_lists(root: LayerInstance, stored: StoredWeights, version: KerasVersion) -> Iterator[WeightList]:
    """The weights of each layer of a model with their arrays.

    The list of a layer of the outermost model has its trainable weights, then the others; those of inner
    layers follow their owner. A frozen layer has no trainable weights. The order of the arrays counts; their
    names only in files of TensorFlow.js, and where the shapes do not fit the order.
    """
    layers = list(_listed(root, stored))
    with_arrays = [name for name, arrays in stored.lists.items() if arrays and name != OF_NO_LAYER]
    for name, layer in zip(_list_names(layers, with_arrays, stored, version), layers, strict=True):
        slots = weights_in_order(layer, version)
        arrays = list(stored.lists.get(name, []))
        by_names = stored.tfjs is not None or not _fit([slot for _, slot in slots], arrays)
        yield layer.name, [slot for _, slot in slots], (by_names and _by_names(slots, arrays)) or arrays


def _list_names(
    layers: Sequence[LayerInstance], with_arrays: list[str], stored: StoredWeights, version: KerasVersion
) -> list[str]:
    """The name of the list of each layer.

    Keras does not look at the names: the first layer gets the first list. Files of TensorFlow.js are matched
    by name, and so are lists that are more or fewer than the layers, which Keras refuses.
    """
    names = [layer.name for layer in layers]
    is_ordered = stored.tfjs is None and version.major >= 2
    if len(names) == len(with_arrays) and (is_ordered or set(names).isdisjoint(with_arrays)):
        return with_arrays
    if version.major < 2:  # it does not store the names of Sequential models inside others
        others = iter(name for name in with_arrays if name not in names)
        return [name if name in with_arrays else next(others, name) for name in names]
    return names


def _fit(slots: Sequence[WeightSlot], arrays: Sequence[StoredWeight]) -> bool:
    """Whether arrays have the shapes of weights in their order."""
    pairs = zip(slots, arrays, strict=False)
    return len(slots) == len(arrays) and all(slot.form_of(array.shape) for slot, array in pairs)


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


# Paths of objects

CONTAINERS = ("layers", "_layer_checkpoint_dependencies")
"""The containers of the layers of a model; the second in Keras 2.12 to 2.14."""
CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Classes whose public name, which configurations have, is not that of the class, which paths have."""
PRIVATE = ("GroupQueryAttention",)
"""Classes whose attributes for layers are private in newer versions."""
PathWeights = tuple[str, str, list[WeightSlot]]
"""The path of an object, the name of the layer, and its weights in the order of the file."""


def path_lists(root: LayerInstance, stored: StoredWeights) -> Iterator[WeightList]:
    """The weights of each layer with its arrays.

    The layers of a model are in a container, named by their classes with a number where a class repeats:
    `layers/dense_1`. Layers inside others have the name of the attribute that refers to them:
    `layers/lstm/cell`. How repeated classes and shared layers are counted differs between versions; the names
    in the file decide which way it was.
    """
    for path, owner, slots in _PathWalk(stored).model(root, ""):
        if slots:
            yield owner, slots, list(stored.lists.get(path, []))


def written_paths(root: LayerInstance) -> Iterator[tuple[str, list[WeightSlot]]]:
    """The paths with which Keras 3 saves a model, with their weights: the model itself has the path ``."""
    for path, _, slots in _PathWalk(StoredWeights(BY_PATH, {})).layer(root, ""):
        yield path, slots


@dataclass(slots=True)
class _PathWalk:
    """Walks layers and paths together, in the order in which Keras saves."""

    stored: StoredWeights
    paths: set[str] = field(init=False)
    """Every path with arrays at or below it."""
    visited: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where each layer was saved, by its name and class."""

    def __post_init__(self) -> None:
        self.paths = {
            path[: separator.start()] for path in self.stored.lists for separator in re.finditer(r"/|$", path)
        }

    def model(self, model: LayerInstance, path: str) -> Iterator[PathWeights]:
        """The lists of the layers of a model, which are in a container."""
        layers = [layer for layer in model.ordered_children() if not is_operation(layer.config)]
        container, names = self._container(layers, path)
        for layer in layers:
            key = _key(layer)
            inner = _join(path, container, names.get(layer.name, ""))
            if key in self.visited and (layer.name not in names or inner not in self.paths):
                inner = self.visited[key]  # a layer of two models is saved with the first
            else:
                self.visited.setdefault(key, inner)
            yield from self.layer(layer, inner)

    def layer(self, layer: LayerInstance, path: str) -> Iterator[PathWeights]:
        """The lists of a layer, and of the layers that its attributes refer to."""
        trainable = [slot for slot in layer.weights.values() if slot.trainable]
        others = [slot for slot in layer.weights.values() if not slot.trainable]
        yield path, layer.name or path, trainable + others
        if layer.config.model is not None:
            yield from self.model(layer, path)
            return
        lists: dict[str, dict[str, int]] = {}
        for attribute, child in layer.children.items():
            name, _, number = attribute.partition("/")
            if number:  # an element of a list: `cells/0`
                number = numbered(lists.setdefault(name, {}), class_path(child.config))
            is_private = layer.config.class_name in PRIVATE
            yield from self.layer(child, self._attribute(path, name, number, is_private))

    def _attribute(self, path: str, name: str, number: str, is_private: bool) -> str:
        """The path of an attribute, which some versions keep private."""
        prefixes = ("_", "") if is_private else ("", "_")
        candidates = [_join(path, prefix + name, number) for prefix in prefixes]
        return next((candidate for candidate in candidates if candidate in self.paths), candidates[0])

    def _container(self, layers: Sequence[LayerInstance], path: str) -> tuple[str, dict[str, str]]:
        """The container of layers and the name of each layer in it, in the way that fits the file."""
        for shared in (False, True):
            for container in CONTAINERS:
                for way in NAMINGS:
                    names = way(layers, self._is_visited if shared else lambda layer: False)
                    if all(
                        _join(path, container, names.get(layer.name, "?")) in self.paths
                        for layer in layers
                        if _has_weights(layer) and not (shared and self._is_visited(layer))
                    ):
                        return container, names
        return CONTAINERS[0], _named_once(layers, lambda layer: False)

    def _is_visited(self, layer: LayerInstance) -> bool:
        return _key(layer) in self.visited


IsShared = Callable[[LayerInstance], bool]


def _named_once(layers: Sequence[LayerInstance], is_shared: IsShared) -> dict[str, str]:
    """Each layer counts once: Keras 3."""
    taken: dict[str, int] = {}
    return {layer.name: numbered(taken, class_path(layer.config)) for layer in layers}


def _named_without_shared(layers: Sequence[LayerInstance], is_shared: IsShared) -> dict[str, str]:
    """Layers that were saved before do not count: Keras 2.14 and 2.15."""
    return _named_once([layer for layer in layers if not is_shared(layer)], is_shared)


def _named_twice(layers: Sequence[LayerInstance], is_shared: IsShared) -> dict[str, str]:
    """Layers with weights count twice: Keras 2.12 and 2.13."""
    taken: dict[str, int] = {}
    names = {}
    for layer in layers:
        names[layer.name] = numbered(taken, class_path(layer.config))
        if _has_weights(layer):
            numbered(taken, class_path(layer.config))
    return names


NAMINGS = (_named_once, _named_twice, _named_without_shared)


def numbered(taken: dict[str, int], name: str) -> str:
    """The name of an object in a container, with a number if it is not the first of its class."""
    number = taken.get(name, -1) + 1
    taken[name] = number
    return f"{name}_{number}" if number else name


def class_path(layer: LayerConfig) -> str:
    """The name of the class of a layer in paths."""
    return snake_case(CLASSES.get(layer.class_name, layer.class_name))


def snake_case(name: str) -> str:
    """The name of a class as Keras writes it in paths: `LSTMCell` is `lstm_cell`."""
    name = re.sub(r"\W+", "", name.rpartition(">")[2])
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _has_weights(layer: LayerInstance) -> bool:
    return any(True for _ in layer.every_weight())


def _key(layer: LayerInstance) -> tuple[str, str]:
    return layer.name, layer.config.class_name


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)
