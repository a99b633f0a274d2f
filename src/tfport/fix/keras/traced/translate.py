"""The graph of a traced call as the layers of a functional model.

Calls of known layers are calls of these layers. Each other node becomes a function or a layer by the table
of its op (`op_layers`). What depends on constants and known sizes alone is computed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun
from tfport.fix.keras.traced.body import LayerRegion, TracedBody, data_needed_by
from tfport.fix.keras.traced.functional import FunctionalModel, NewLayer
from tfport.fix.keras.traced.op_layers import NO_LAYER, OP_LAYERS
from tfport.fix.keras.traced.saved_layers import SavedLayer, SavedLayers
from tfport.fix.keras.traced.values import PartialSizes, TracedValues, TracedWeight, VariableHandle
from tfport.formats.keras.records import TrackedObject
from tfport.frontends.keras.config import TensorRef
from tfport.frontends.keras.saved_model import constant_of_object
from tfport.graph.constants import constant
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import PASSING
from tfport.graph.reach import in_order
from tfport.runtime.evaluate import evaluated
from tfport.runtime.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray

READS = ("ReadVariableOp",)
SHAPED = ("Reshape", "Conv2DBackpropInput")
"""Ops whose result has a shape that an input states: inference knows it."""
SIZES = (INT32, INT64)
NUMBERED = re.compile(r"(.+?)_\d+")
ATTENTION = "MultiHeadAttention"
QUERY, KEY, VALUE = "query", "key", "value"


class Translation(TracedValues):
    """Turns one graph into a functional model."""

    def __init__(self, body: TracedBody, name: str, saved: SavedLayers | None, *, constants: bool) -> None:
        super().__init__(body, name, constants=constants)
        self.saved = saved
        self._layers: dict[int, NewLayer] = {}
        self._state = State()

    def run(self) -> FunctionalModel:
        for name, value in self.body.inputs.items():
            self.values[value] = self.functional.input(name, self.inferred.shape(value), value.dtype)
        for node in in_order(self.body.graph, data_needed_by([value.node for value in self.body.outputs])):
            if node.output(0) not in self.values:
                self._translate(node)
        named = len(self.body.outputs) > 1
        for value, name in zip(self.body.outputs, self.body.output_names, strict=True):
            ref = self.tensor(value)
            if named or ref in self.functional.inputs:
                ref = self.functional.activation("linear", ref, name)
            self.functional.outputs.append(ref)
        return self.functional

    # Nodes.

    def _translate(self, node: Node) -> None:
        self.infer_again(node)
        values = self.values
        outputs = node.read_outputs or [node.output(0)] if node.declared_outputs != 0 else []
        if (region := self.body.regions.get(node)) is not None:
            if any(value in region.outputs() for value in node.read_outputs):
                self._call(region)
            return
        if node in self.body.variables:
            values[node.output(0)] = self._captured(self.body.variables[node])
        elif (tensor := constant(node.output(0))) is not None:
            values[node.output(0)] = tensor.numpy()
        elif node.op in READS and isinstance(handle := values.get(node.inputs[0]), VariableHandle):
            values[node.output(0)] = self.weight_of(handle.number, node)
        elif node.op in PASSING or node.op == "IdentityN":
            values.update((node.output(i), values.get(value)) for i, value in enumerate(node.inputs))
        elif all(self._known(value) is not None for value in outputs):
            values.update((value, self._known(value)) for value in outputs)
        elif self._computed(node) or self._op_layers(node):
            return
        elif all(value in self.inferred.elements for value in outputs):
            values.update((value, PartialSizes(self.inferred.elements[value])) for value in outputs)

    def _op_layers(self, node: Node) -> bool:
        """Make the layers of a node; False if it only computes sizes that are not known."""
        make = OP_LAYERS.get(node.op)
        sizes = any(isinstance(self.values.get(value), PartialSizes) for value in node.inputs)
        if node.output(0) in self.inferred.elements and (sizes or make is None):
            return False
        if sizes and node.op not in SHAPED and not node.is_stateful and node.output(0).dtype in SIZES:
            self.values.update((value, PartialSizes(())) for value in node.read_outputs)
            return True
        if make is None:
            raise self.refuse(node, NO_LAYER)
        result = make(self, node)
        results = result if isinstance(result, list) else [result]
        for index, content in enumerate(results):
            self.values[node.output(index)] = content
        return True

    def _known(self, value: Value) -> NDArray[Any] | None:
        """The elements of small integers that follow from shapes."""
        elements = self.inferred.elements.get(value)
        if elements is None or any(size is None for size in elements):
            return None
        dims = self.shape(value)
        if dims is None or None in dims:
            return None
        return np.array(elements, value.dtype.numpy).reshape([size or 0 for size in dims])

    def _computed(self, node: Node) -> bool:
        """Compute a node whose inputs are constants and weights."""
        inputs = [self.values.get(value) for value in node.inputs]
        arrays = [array for value in node.inputs if (array := self.weight(value)) is not None]
        if not inputs or len(arrays) < len(inputs):
            return False
        weights = [content for content in inputs if isinstance(content, TracedWeight)]
        results = evaluated(node, arrays, self._state)
        if results is None or any(result is None for result in results):
            return False
        for value, result in zip(node.outputs, results, strict=True):
            assert result is not None
            self.values[value] = TracedWeight.of(weights[0].name, result) if weights else result
        return True

    def _captured(self, number: int) -> VariableHandle | NDArray[Any]:
        """A variable, or a constant that the traced function takes from outside."""
        assert self.saved is not None
        content = constant_of_object(self.saved.model, number)
        return VariableHandle(number) if content is None else content.read()

    def weight_of(self, number: int, node: Node) -> TracedWeight:
        tracked = self.saved.tracked.get(number) if self.saved is not None else None
        if tracked is None or tracked.weight is None:
            raise self.refuse(node, "it reads a variable that is not in the checkpoint")
        name = self.saved.objects.nodes[number].variable.name if self.saved is not None else ""
        return TracedWeight(name or tracked.weight.name, tracked.weight.read)

    # Known layers.

    def _call(self, region: LayerRegion) -> None:
        outputs = region.outputs()
        if any(value in self.values for value in outputs):
            return
        layer = region.layer
        args, kwargs = self._arguments(region)
        if region.prefix and len(outputs) != 1:
            raise CannotRun(f"layer `{layer.name}` ({layer.class_name}): several of its results are used")
        made = self._layers.get(layer.number) or self._new_layer(layer)
        ref = self.functional.call(made, *args, **kwargs)
        for value in outputs:
            index = 0 if region.prefix else value.index
            self.values[value] = TensorRef(ref.layer, ref.call, index)

    def _new_layer(self, layer: SavedLayer) -> NewLayer:
        assert self.saved is not None
        config = dict(layer.config)
        tracked = self.saved.tracked.get(layer.number) or TrackedObject()
        made = self.functional.layer(layer.class_name, layer.name, config, tracked, is_model=layer.is_model)
        self._layers[layer.number] = made
        return made

    def _arguments(self, region: LayerRegion) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the call of a layer."""
        if not region.prefix:
            return self._named_arguments(region)
        inputs = [v for v in region.inputs() if not isinstance(self.values.get(v), VariableHandle)]
        if region.layer.class_name == ATTENTION:
            return self._attention_arguments(region)
        masks = [v for v in inputs if v.dtype.name == "bool"]
        others = [v for v in inputs if v not in masks and not isinstance(self.values.get(v), PartialSizes)]
        if len(others) != 1 or len(masks) > 1:
            raise CannotRun(
                f"layer `{region.layer.name}` ({region.layer.class_name}): it is called with "
                f"{len(others)} tensors, but the file does not say which is which"
            )
        return [self.tensor(others[0])], {"mask": self.tensor(masks[0])} if masks else {}

    def _named_arguments(self, region: LayerRegion) -> tuple[list[Any], dict[str, Any]]:
        groups: dict[str, list[Value]] = {}
        names = [name for name, _ in region.arguments]
        for name, value in region.arguments:
            match = NUMBERED.fullmatch(name)
            groups.setdefault(match[1] if match and match[1] in names else name, []).append(value)
        arguments: dict[str, Any] = {}
        for name, values in groups.items():
            tensors = [self.tensor(value) for value in values]
            arguments[name] = tensors[0] if len(tensors) == 1 else tensors
        first, *rest = arguments
        return [arguments[first]], {name: arguments[name] for name in rest}

    def _attention_arguments(self, region: LayerRegion) -> tuple[list[Any], dict[str, Any]]:
        """The query, value and key of attention, by the name scopes of their projections."""
        content: Mapping[str, Value] = {
            part: value
            for node in region.nodes
            for part in (QUERY, KEY, VALUE)
            if node.name.startswith(f"{region.prefix}/{part}/")
            for value in node.inputs
            if value.node not in region.nodes and isinstance(self.values.get(value), TensorRef)
        }
        others = [v for v in region.inputs() if v not in content.values() and self._is_tensor(v)]
        if set(content) != {QUERY, KEY, VALUE} or others:
            raise CannotRun(f"layer `{region.layer.name}` ({ATTENTION}): its arguments are not in the file")
        query, value, key = (self.tensor(content[part]) for part in (QUERY, VALUE, KEY))
        return [query], {VALUE: value, KEY: key} if key != value else {VALUE: value}

    def _is_tensor(self, value: Value) -> bool:
        return isinstance(self.values.get(value), TensorRef)
