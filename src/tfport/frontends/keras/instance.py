"""A Keras model while it is built: its layers, their weights, and how a file stores these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.frontends.keras.config import LayerConfig
from tfport.frontends.keras.layer_order import layers_in_order
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class StoredForm:
    """How a file stores a weight, where that is not as the layer uses it."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    """The axes of the stored array in the order of the weight; axes of the size 1 may be dropped."""
    reversed_axes: int = 0
    """How many of the first axes of the weight are stored in reverse."""


@dataclass(slots=True)
class WeightSlot:
    """A weight that a layer uses: a constant of the graph, whose elements the file has."""

    name: str
    """Its name inside the layer: `kernel`."""
    shape: tuple[int, ...]
    dtype: DType
    trainable: bool
    node: Node
    forms: tuple[StoredForm, ...] = ()
    """The forms in which the file may store it; none for its own shape."""

    def form_of(self, shape: tuple[int, ...]) -> StoredForm | None:
        """The form of an array with this shape; None if it does not fit."""
        forms = self.forms or (StoredForm(self.shape, tuple(range(len(self.shape)))),)
        return next((form for form in forms if form.shape == shape), None)


@dataclass(slots=True)
class LayerInstance:
    """A layer; a layer that is called twice, or by two models, is one instance with one set of weights."""

    config: LayerConfig
    weights: dict[str, WeightSlot] = field(default_factory=dict)
    """In the order in which Keras creates them."""
    children: dict[str, LayerInstance] = field(default_factory=dict)
    """The layers inside it by the attribute that refers to them; those of a model by their names."""
    outputs: list[Any] = field(default_factory=list)
    """What each of its calls returned: a tensor, or a structure of tensors."""

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def trainable(self) -> bool:
        return self.config.config.get("trainable", True) is not False

    def ordered_children(self) -> Iterator[LayerInstance]:
        """The layers inside it: those of a model as Keras orders them."""
        if self.config.model is None:
            yield from self.children.values()
            return
        for layer in layers_in_order(self.config.model):
            if layer.name in self.children:
                yield self.children[layer.name]

    def every_weight(self) -> Iterator[WeightSlot]:
        """Its weights, then those of the layers inside it."""
        yield from self.weights.values()
        for child in self.children.values():
            yield from child.every_weight()


@dataclass(frozen=True, slots=True)
class OwnedWeight:
    """A weight with the layers that it is in."""

    layers: tuple[LayerInstance, ...]
    """Outermost first; the last one has the weight."""
    name: str
    """Its name inside the layer."""


@dataclass(repr=False)
class KerasModel(Model):
    """A model read from a Keras file: its graph, and the layers that the graph was built from."""

    root: LayerInstance | None = None
    """The layers, as far as they could be built; None if the file has no architecture."""
