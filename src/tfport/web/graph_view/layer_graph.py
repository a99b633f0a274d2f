"""The layers of a Keras model by columns, and a layer in detail.

A model inside a model is a graph of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.errors import Error
from tfport.frontends.keras.build import input_spec
from tfport.frontends.keras.config import INPUT_LAYER, LayerCall, LayerConfig, ModelConfig, TensorRef
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors
from tfport.web.graph_view.columns import (
    LAYERS,
    GraphCall,
    GraphColumns,
    GraphSummary,
    NodeRole,
    attribute,
)
from tfport.web.graph_view.value_types import type_text

MOST_MODELS = 1000
MOST_WEIGHTS = 24
OUTPUT = "(output)"
identity = id
"""Python's own `id`: two models may be equal."""


class LayerGraphs:
    """A model and the models inside it."""

    def __init__(self, root: LayerInstance) -> None:
        assert root.config.model is not None
        self._models: dict[str, tuple[ModelConfig, LayerInstance]] = {}
        self._ids: dict[int, str] = {}
        self._columns: dict[str, GraphColumns] = {}
        self._paths: dict[str, str] = {}
        """What the names of the weights of a model begin with."""
        self._add(root.config.model, root, "")

    def _add(self, model: ModelConfig, instance: LayerInstance, path: str) -> None:
        if len(self._models) >= MOST_MODELS:
            return
        id = f"layers{len(self._models) or ''}"
        self._models[id] = model, instance
        self._ids[identity(model)] = id
        self._paths[id] = path
        for layer in model.layers:
            if layer.model is not None:
                inner = instance.children.get(layer.name) or LayerInstance(layer)
                self._add(layer.model, inner, f"{path}{layer.name}/")

    def summaries(self) -> list[GraphSummary]:
        return [
            GraphSummary(id, model.name, LAYERS, len(self.columns(id).names), int(id != "layers"))
            for id, (model, _) in self._models.items()
        ]

    def columns(self, id: str) -> GraphColumns:
        if id not in self._columns:
            self._columns[id] = self._built(*self._models[id])
        return self._columns[id]

    def _built(self, model: ModelConfig, instance: LayerInstance) -> GraphColumns:
        columns, index = GraphColumns(), dict[str, int]()
        for layer in model.layers:
            role = NodeRole.INPUT if layer.class_name == INPUT_LAYER else NodeRole.OP
            index[layer.name] = node = columns.add_node(layer.name, layer.class_name, role)
            if layer.model is not None and (id := self._ids.get(identity(layer.model))):
                columns.role[node] = NodeRole.CALL
                joined = all(_argument_count(call) == _input_count(layer.model) for call in layer.calls)
                columns.calls.append(GraphCall(node, [id], 0 if joined else None, [id]))
        for layer in model.layers:
            refs = (ref for call in layer.calls for ref in _arguments(call))
            for place, ref in enumerate(refs):
                _connect(columns, index, instance, ref, index[layer.name], place)
        for place, ref in enumerate(flat_tensors(model.outputs)):
            node = columns.add_node(f"output {place}" if place else "output", OUTPUT, NodeRole.OUTPUT)
            _connect(columns, index, instance, ref, node, 0)
            columns.results.append(node)
        inputs = (ref.layer for ref in flat_tensors(model.inputs))
        columns.arguments = [index[name] for name in inputs if name in index]
        return columns

    def details(self, id: str, name: str) -> dict[str, Any] | None:
        columns = self.columns(id)
        index = columns.index_of(name)
        if index is None:
            return None
        calls = [
            {"attribute": "layers", "graph": called, "name": self._models[called][0].name}
            for call in columns.calls
            if call.node == index
            for called in call.graphs
        ]
        details = columns.details(id, index, self.attributes(id, index), calls)
        return {**details, "tensors": [] if calls else list(self._weights(id, name))[:MOST_WEIGHTS]}

    def _weights(self, id: str, layer: str) -> Iterator[str]:
        """The keys of the weights of a layer, as `model_weights` names them."""
        instance = self._models[id][1].children.get(layer)
        yield from _keys(instance, f"{self._paths[id]}{layer}/") if instance is not None else ()

    def attributes(self, id: str, index: int) -> list[dict[str, Any]]:
        model, instance = self._models[id]
        if index >= len(model.layers):  # an output
            return []
        layer = model.layers[index]
        return list(_attributes(layer, instance.children.get(layer.name)))


def _keys(instance: LayerInstance, path: str) -> Iterator[str]:
    yield from (f"{path}{slot.name}" for slot in instance.weights.values())
    for name, child in instance.children.items():
        yield from _keys(child, f"{path}{name}/")


def _arguments(call: LayerCall) -> Iterator[TensorRef]:
    """The tensors that a layer is called with."""
    yield from flat_tensors([list(call.args), dict(call.kwargs)])


def _argument_count(call: LayerCall) -> int:
    return sum(1 for _ in _arguments(call))


def _input_count(model: ModelConfig) -> int:
    return sum(1 for _ in flat_tensors(model.inputs))


def _connect(
    columns: GraphColumns,
    index: dict[str, int],
    instance: LayerInstance,
    ref: TensorRef,
    node: int,
    place: int,
) -> None:
    if ref.layer in index:
        type = _input_type(instance, ref) or _type(instance.children.get(ref.layer), ref)
        columns.add_edge(index[ref.layer], ref.output, node, place, type)


def _input_type(model: LayerInstance, ref: TensorRef) -> str:
    """The type of an input layer, which its options state; empty for any other layer."""
    layers = model.config.model.layers if model.config.model is not None else []
    layer = next((layer for layer in layers if layer.name == ref.layer), None)
    if layer is None or layer.class_name != INPUT_LAYER:
        return ""
    try:
        dims, dtype = input_spec(layer)
    except Error:
        return ""
    return type_text(str(dtype), dims)


def _type(instance: LayerInstance | None, ref: TensorRef) -> str:
    """The type of an output of a layer; empty if the layer was not built."""
    if instance is None or not 0 <= ref.call < len(instance.outputs):
        return ""
    tensors = list(flat_tensors([instance.outputs[ref.call]]))
    tensor = tensors[ref.output] if 0 <= ref.output < len(tensors) else None
    return type_text(str(tensor.dtype), tensor.shape) if isinstance(tensor, LayerTensor) else ""


def _attributes(layer: LayerConfig, instance: LayerInstance | None) -> Iterator[dict[str, Any]]:
    """The options of a layer, and the shapes of its weights."""
    for name, value in sorted(layer.config.items()):
        if name not in ("name", "layers"):
            yield attribute(name, value)
    for name, slot in (instance.weights if instance is not None else {}).items():
        yield attribute(f"weight {name}", type_text(str(slot.dtype), slot.shape))
