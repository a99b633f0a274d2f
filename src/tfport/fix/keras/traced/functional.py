"""A functional model while it is made: its layers, their calls and their weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.keras.records import Json, StoredWeight, TrackedObject
from tfport.frontends.keras.config import INPUT_LAYER, KERAS_TENSOR, SEQUENTIAL, TensorRef, every_ref
from tfport.frontends.keras.layer import FUNCTION_LAYERS
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

FUNCTIONAL = "Functional"
MODULE = "keras.layers"
FUNCTION_LAYER, SLICING_LAYER = FUNCTION_LAYERS
SLICING = "__operators__.getitem"


@dataclass(slots=True)
class NewLayer:
    """A layer of the new model, with its calls."""

    class_name: str
    name: str
    config: dict[str, Json]
    tracked: TrackedObject
    is_model: bool = False
    calls: list[tuple[Sequence[Any], Mapping[str, Any]]] = field(default_factory=list)


class FunctionalModel:
    """Layers and their calls, in the order in which they are made."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.layers: dict[str, NewLayer] = {}
        self.inputs: list[TensorRef] = []
        self.outputs: list[TensorRef] = []

    def input(self, name: str, shape: Shape, dtype: DType) -> TensorRef:
        dims = list(shape.dims) if shape.dims is not None else None
        layer = self.layer(INPUT_LAYER, name, {"batch_input_shape": dims, "dtype": dtype.name})
        self.inputs.append(TensorRef(layer.name))
        return self.inputs[-1]

    def layer(
        self,
        class_name: str,
        name: str,
        config: Mapping[str, Json],
        tracked: TrackedObject | None = None,
        *,
        is_model: bool = False,
    ) -> NewLayer:
        """Add a layer; its name changes if it is taken."""
        free = self._free(re.sub(r"[^\w.>-]", "_", name))
        config = {**config, "name": free}
        old = tracked or TrackedObject()
        renamed = TrackedObject(free, old.number, old.weight, old.table, old.children)
        made = self.layers[free] = NewLayer(class_name, free, config, renamed, is_model)
        return made

    def call(self, layer: NewLayer, *args: Any, **kwargs: Any) -> TensorRef:
        layer.calls.append((args, kwargs))
        return TensorRef(layer.name, len(layer.calls) - 1)

    def function(self, name: str, first: Any, **arguments: Any) -> TensorRef:
        """Call a function of TensorFlow."""
        class_name = SLICING_LAYER if name == SLICING else FUNCTION_LAYER
        layer = self.layer(
            class_name, f"tf.{name}", {"function": name, "trainable": True, "dtype": "float32"}
        )
        return self.call(layer, first, **arguments)

    def activation(self, name: str, x: TensorRef, layer_name: str = "") -> TensorRef:
        layer = self.layer("Activation", layer_name or name, {"activation": name, "trainable": True})
        return self.call(layer, x)

    def weighted(
        self, class_name: str, name: str, x: Any, weights: Mapping[str, NDArray[Any]], **options: Json
    ) -> TensorRef:
        """Call a new layer with these weights."""
        tracked = TrackedObject(children={key: stored(key, array) for key, array in weights.items()})
        layer = self.layer(class_name, name, {**options, "trainable": True}, tracked)
        return self.call(layer, x)

    def config(self) -> dict[str, Json]:
        """The model as files have it, without layers that nothing uses."""
        used, waiting = set[str](), [*self.inputs, *self.outputs]
        while waiting:
            layer = self.layers[waiting.pop().layer]
            if layer.name not in used:
                used.add(layer.name)
                for args, kwargs in layer.calls:
                    waiting += every_ref([list(args), dict(kwargs)])
        layers = [self._entry(layer) for layer in self.layers.values() if layer.name in used]
        config = {
            "name": self.name,
            "layers": layers,
            "input_layers": [[ref.layer, 0, 0] for ref in self.inputs],
            "output_layers": [self._history(ref) for ref in self.outputs],
        }
        return {"class_name": FUNCTIONAL, "config": config, "module": MODULE}

    def tracked(self) -> TrackedObject:
        """The weights, as a checkpoint has those of a functional model."""
        children = {f"layer-{n}": layer.tracked for n, layer in enumerate(self.layers.values())}
        return TrackedObject(self.name, children=children)

    def _entry(self, layer: NewLayer) -> dict[str, Json]:
        calls = [
            {
                "args": [self._stored(arg) for arg in args],
                "kwargs": {key: self._stored(value) for key, value in kwargs.items()},
            }
            for args, kwargs in layer.calls
        ]
        return {
            "class_name": layer.class_name,
            "config": layer.config,
            "name": layer.name,
            "module": MODULE,
            "inbound_nodes": calls,
        }

    def _stored(self, value: Any) -> Json:
        if isinstance(value, TensorRef):
            return {"class_name": KERAS_TENSOR, "config": {"keras_history": self._history(value)}}
        if isinstance(value, np.ndarray):
            return {"class_name": "__numpy__", "config": {"value": value.tolist(), "dtype": str(value.dtype)}}
        if isinstance(value, list | tuple):
            return [self._stored(inner) for inner in value]
        return value

    def _history(self, ref: TensorRef) -> list[Json]:
        """A tensor; files count the creation of an inner functional model as its first call."""
        layer = self.layers[ref.layer]
        return [ref.layer, ref.call + (layer.is_model and layer.class_name != SEQUENTIAL), ref.output]

    def _free(self, name: str) -> str:
        free, number = name, 0
        while free in self.layers:
            number += 1
            free = f"{name}_{number}"
        return free


def stored(name: str, array: NDArray[Any]) -> TrackedObject:
    """An array as a variable of a checkpoint."""
    read: Callable[[], NDArray[Any]] = lambda: array  # noqa: E731
    return TrackedObject(weight=StoredWeight(name, str(array.dtype), array.shape, read))
