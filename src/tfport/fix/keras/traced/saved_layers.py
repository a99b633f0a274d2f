"""The layers of a Keras SavedModel: their options, their variables, and the function of their call.

A SavedModel has an object for each layer, also inside subclassed models. Each has what Keras stored with it
(class, name, options), the variables that its attributes lead to, and `__call__`, a traced function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.keras.records import Json, StoredWeights, TrackedObject
from tfport.formats.keras.saved_model import metadata_of_objects
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.frontends.keras.config import INPUT_LAYER, SEQUENTIAL, LayerConfig, layer_config
from tfport.frontends.keras.layer import FUNCTION_LAYERS, find_layer, options_of
from tfport.frontends.keras.tracked import NOT_OF_LAYERS
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass

CALL, SIGNATURE_CALL = "__call__", "_default_save_signature"
TracedFunction = tuple[str, pb.SavedConcreteFunction]
OF_NODES = ("TensorFlowOpLayer", "AddLoss", "AddMetric", *FUNCTION_LAYERS)
"""Layers for single nodes, and for what only training does: nodes of a trace say the same."""
LAYER_FUNCTION = re.compile(r"__inference_(.+)_layer_call_(?:and_return_conditional_losses|fn)_\d+")
FLAG = "bool_value"
"""Of the arguments of a traced call, only `training` is one."""


@dataclass(frozen=True, slots=True)
class SavedLayer:
    """A layer or model of Keras in a SavedModel."""

    number: int
    """Of its object."""
    class_name: str
    name: str
    config: Json
    is_known: bool
    """Whether tfport builds the class, and those of the layers inside it, from its options."""

    @property
    def is_model(self) -> bool:
        """Whether its options list the layers inside it."""
        return self.class_name == SEQUENTIAL or (
            isinstance(self.config, Mapping) and "output_layers" in self.config
        )


class SavedLayers:
    """The layers of a SavedModel, by the number of their objects."""

    def __init__(self, model: Model, weights: StoredWeights | None) -> None:
        self.model, self._weights = model, weights
        self.objects = model.meta.object_graph_def
        metadata = metadata_of_objects(model.files, self.objects)
        self.layers = {
            number: _saved_layer(number, stored, model.where) for number, stored in metadata.items()
        }
        self._variables: dict[int, frozenset[int]] = {}

    @cached_property
    def tracked(self) -> dict[int, TrackedObject]:
        """What the checkpoint has of each object."""
        root = self._weights.root if self._weights is not None else None
        waiting, by_number = [root] if root is not None else [], dict[int, TrackedObject]()
        while waiting:
            tracked = waiting.pop()
            if tracked.number is not None and tracked.number not in by_number:
                by_number[tracked.number] = tracked
                waiting += tracked.children.values()
        return by_number

    def variables_of(self, number: int) -> frozenset[int]:
        """The variables that the attributes of an object lead to."""
        if number not in self._variables:
            reached = {number}
            waiting = [number]
            while waiting:
                for inner in self._children(waiting.pop()):
                    if inner not in reached:
                        reached.add(inner)
                        waiting.append(inner)
            kinds = {n: self.objects.nodes[n].WhichOneof("kind") for n in reached}
            self._variables[number] = frozenset(n for n, kind in kinds.items() if kind == "variable")
        return self._variables[number]

    def _children(self, number: int) -> Iterator[int]:
        for child in self.objects.nodes[number].children:
            if child.local_name not in NOT_OF_LAYERS and 0 <= child.node_id < len(self.objects.nodes):
                yield child.node_id

    @cached_property
    def owners(self) -> dict[int, SavedLayer]:
        """The outermost known layer that is no model, for each variable that one has."""
        owners: dict[int, SavedLayer] = {}
        waiting, seen = [0], {0}
        while waiting:
            number = waiting.pop(0)
            layer = self.layers.get(number)
            if layer is not None and layer.is_known and not layer.is_model:
                for variable in self.variables_of(number):
                    owners.setdefault(variable, layer)
                continue
            for inner in self._children(number):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)
        return owners

    def called_by_function(self, function: str, variables: set[int]) -> SavedLayer | None:
        """The known layer whose call a traced function is; the variables tell equal names apart."""
        match = LAYER_FUNCTION.fullmatch(function)
        if match is None:
            return None
        named = [
            layer
            for layer in self.layers.values()
            if _plain(layer.name) == _plain(match[1]) and variables <= self.variables_of(layer.number)
        ]
        if variables:
            named.sort(key=lambda layer: len(self.variables_of(layer.number)))
        elif any(layer.config != named[0].config for layer in named):
            return None
        return named[0] if named and named[0].is_known else None

    def call_functions(self, number: int) -> Iterator[TracedFunction]:
        """The functions of a layer's call that are traced for inference, then that of the signature."""
        children = {child.local_name: child.node_id for child in self.objects.nodes[number].children}
        for attribute in (CALL, SIGNATURE_CALL):
            for name in self.objects.nodes[children.get(attribute, number)].function.concrete_functions:
                concrete = self.objects.concrete_functions[name]
                if not any(argument_leaves(concrete.canonicalized_input_signature, FLAG)):
                    yield name, concrete


def _saved_layer(number: int, stored: Mapping[str, Json], where: str) -> SavedLayer:
    class_name, name = str(stored.get("class_name") or ""), str(stored.get("name") or "")
    config = stored.get("config")
    entry = {"class_name": class_name, "config": config, "name": name}
    try:
        known = isinstance(config, Mapping) and is_known(layer_config(entry, where))
    except UnreadableFile:  # a model that was saved without its layers
        known = False
    return SavedLayer(number, class_name, name, config, known)


def is_known(layer: LayerConfig) -> bool:
    if layer.model is not None:
        return all(is_known(inner) for inner in layer.model.layers)
    declared = find_layer(layer) if layer.class_name not in OF_NODES else None
    # a custom class may have the name of one of Keras, but not its options
    fits = declared is not None and (not declared.checks_options or not options_of(declared, layer.config)[1])
    if declared is not None and fits:
        stored = [layer.config.get(option) for option in declared.wraps]
        inside = [inner for value in stored for inner in (value if isinstance(value, list) else [value])]
        fits = all(is_known(layer_config(inner, layer.name)) for inner in inside if inner is not None)
    return layer.class_name == INPUT_LAYER or fits


def _plain(name: str) -> str:
    """A name without characters that names of functions replace, in some releases."""
    return re.sub(r"\W", "_", name)


def argument_leaves(value: pb.StructuredValue, field: str) -> Iterator[Any]:
    """The arguments of a traced function that are of one kind, in their order."""
    kind = value.WhichOneof("kind")
    if kind == field:
        yield getattr(value, field)
    elif kind in ("tuple_value", "list_value"):
        for inner in getattr(value, kind).values:
            yield from argument_leaves(inner, field)
    elif kind == "dict_value":
        for key in sorted(value.dict_value.fields):
            yield from argument_leaves(value.dict_value.fields[key], field)
