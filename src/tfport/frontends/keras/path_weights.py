"""Which arrays are which weights in files with a path for each object, as `.keras` files have.

The layers of a model are in a container, named by their classes with a number where a class repeats:
`layers/dense_1`. Layers inside others have the name of the attribute that refers to them:
`layers/lstm/cell`. How repeated classes and shared layers are counted differs between versions; the names
in the file decide which way it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from tfport.formats.keras.records import BY_PATH, StoredWeights
from tfport.frontends.keras.config import LayerConfig
from tfport.frontends.keras.instance import LayerInstance, WeightSlot
from tfport.frontends.keras.layer import is_operation
from tfport.frontends.keras.layer_weights import WeightList
from tfport.startup.dataclass import dataclass, field

CONTAINERS = ("layers", "_layer_checkpoint_dependencies")
"""The containers of the layers of a model; the second in Keras 2.12 to 2.14."""


CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Classes whose public name, which configurations have, is not that of the class, which paths have."""

PRIVATE = ("GroupQueryAttention",)
"""Classes whose attributes for layers are private in newer versions."""
PathWeights = tuple[str, str, list[WeightSlot]]
"""The path of an object, the name of the layer, and its weights in the order of the file."""


def path_lists(root: LayerInstance, stored: StoredWeights) -> Iterator[WeightList]:
    """The weights of each layer with its arrays."""
    for path, owner, slots in _PathWalk(stored).model(root, ""):
        yield owner, slots, list(stored.lists.get(path, []))


def written_paths(root: LayerInstance) -> Iterator[tuple[str, list[WeightSlot]]]:
    """The paths with which Keras 3 saves a model, with their weights."""
    for path, _, slots in _PathWalk(StoredWeights(BY_PATH, {})).model(root, ""):
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
            path[: place.start()] for path in self.stored.lists for place in re.finditer(r"/|$", path)
        }

    def model(self, model: LayerInstance, path: str) -> Iterator[PathWeights]:
        """The lists of a model, whose layers are in a container."""
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
        if layer.config.model is not None:
            yield from self.model(layer, path)
            return
        if layer.weights:
            trainable = [slot for slot in layer.weights.values() if slot.trainable]
            others = [slot for slot in layer.weights.values() if not slot.trainable]
            yield path, layer.name or path, trainable + others
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
