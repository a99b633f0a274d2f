"""The graph of a traced call, with the parts of it that are calls of known layers.

A traced function of a model calls the functions of its layers: such a call stays a node, and every other
one is inlined. Inside a custom layer the layers are inlined already: there the nodes in the name scope of a
layer that read its variables, with what is between them, are one call of the layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tfport.errors import CannotRun, MalformedGraph
from tfport.fix.keras.traced.saved_layers import SavedLayer, SavedLayers, argument_leaves
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.inline import callee, inline
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass, field

DEEPEST = 100
SINGLE_READ = ("Dense", "Conv", "Embedding", "Normalization")
"""Parts of the names of classes that read each weight once in a call."""

TENSOR = "tensor_spec_value"


Inputs = list[tuple[int, str]]


@dataclass(slots=True)
class LayerRegion:
    """Nodes that are one call of a known layer."""

    layer: SavedLayer
    nodes: set[Node]
    prefix: str = ""
    """The name scope of the call; empty for the call of a traced function."""
    arguments: list[tuple[str, Value]] = field(default_factory=list)
    """For the call of a function: its tensors and their names."""

    def inputs(self) -> list[Value]:
        """What it reads from outside, without constants of its own, each once."""
        read = (v for node in self.nodes for v in node.inputs if v.node not in self.nodes)
        return list(dict.fromkeys(v for v in read if v.node.op != "Const"))

    def outputs(self) -> list[Value]:
        """What others read."""
        values = [value for node in self.nodes for value in node.read_outputs]
        return [value for value in values if any(user not in self.nodes for user in value.uses)]


@dataclass(slots=True)
class TracedBody:
    """A graph with inputs and outputs, its variables, and the calls of known layers in it."""

    graph: Graph
    inputs: dict[str, Value]
    outputs: list[Value]
    output_names: list[str] = field(default_factory=list)
    variables: dict[Node, int] = field(default_factory=dict)
    """The numbers of the objects that arguments of the function are handles of."""
    regions: dict[Node, LayerRegion] = field(default_factory=dict)
    """By each node of the region."""


def traced_body(saved: SavedLayers, model: Model, number: int, inputs: Inputs | None = None) -> TracedBody:
    """The body of the call of a layer with these inputs. `model` is a copy, whose graph gets the nodes."""
    layer = saved.layers[number]
    for name, concrete in saved.call_functions(number):
        known = name in model.graph.library.functions
        if known and (inputs is None or inputs == inputs_of(concrete)):
            return _body(saved, model, number, name, concrete)
    raise CannotRun(f"layer `{layer.name}` ({layer.class_name}): no traced call is in the file")


def inputs_of(concrete: pb.SavedConcreteFunction) -> Inputs:
    """The types and shapes of the tensors that a traced function takes, in some order."""
    specs = argument_leaves(concrete.canonicalized_input_signature, TENSOR)
    return sorted((int(spec.dtype), str(Shape.from_proto(spec.shape))) for spec in specs)


def _body(
    saved: SavedLayers, model: Model, number: int, name: str, concrete: pb.SavedConcreteFunction
) -> TracedBody:
    function = model.graph.library.functions[name]
    body = TracedBody(Graph(model.graph.ops, model.graph.library), {}, [])
    arguments = list(function.args.values())
    first_handle = len(arguments) - len(concrete.bound_inputs)
    passed = []
    for index, argument in enumerate(arguments):
        value = argument.output(0)
        shape = value.shape
        attrs = {"dtype": value.dtype, "shape": shape}
        node = body.graph.add("Placeholder", (), attrs, name=argument.name)
        if index >= first_handle:
            body.variables[node] = concrete.bound_inputs[index - first_handle]
        else:
            body.inputs[node.name] = node.output(0)
        passed.append(node.output(0))
    specs = list(argument_leaves(concrete.canonicalized_input_signature, TENSOR))
    if len(specs) == len(body.inputs):
        for value, spec in zip(body.inputs.values(), specs, strict=True):
            value.node.attrs["shape"] = Shape.from_proto(spec.shape)
    types = {"Tin": [v.dtype for v in passed], "Tout": [v.dtype for v in function.results]}
    call = body.graph.add("StatefulPartitionedCall", passed, {**types, "f": FunctionRef(name)}, name="call")
    body.outputs = [call.output(i) for i in range(len(types["Tout"]))]
    ends = [body.graph.add("Identity", [v], {"T": v.dtype}, name="result") for v in body.outputs]
    body.outputs = [end.output(0) for end in ends]
    body.output_names = _output_names(concrete.output_signature, len(ends))
    _inline(body, saved, number, ends)
    _find_scopes(body, saved, ends)
    return body


def data_needed_by(ends: Iterable[Node]) -> set[Node]:
    """The nodes whose values some nodes need; what only must run before them does not count."""
    waiting = list(ends)
    needed = set(waiting)
    while waiting:
        for value in waiting.pop().inputs:
            if value.node not in needed:
                needed.add(value.node)
                waiting.append(value.node)
    return needed


def _output_names(value: pb.StructuredValue, count: int) -> list[str]:
    """The names that Keras gives to the outputs of a model: the keys of a dict, or numbers."""
    if value.WhichOneof("kind") == "dict_value" and len(value.dict_value.fields) == count:
        return sorted(value.dict_value.fields)
    return [f"output_{number}" for number in range(1, count + 1)]


def _inline(body: TracedBody, saved: SavedLayers, number: int, ends: Sequence[Node]) -> None:
    """Inline calls until only those of known layers inside a layer are left."""
    for _ in range(DEEPEST):
        calls = [
            node for node in data_needed_by(ends) if node not in body.regions and callee(node) is not None
        ]
        if not calls:
            return
        for call in calls:
            function = callee(call)
            assert function is not None
            handles = [value for value in call.inputs if value.node in body.variables]
            layer = saved.called_by_function(function.name, {body.variables[v.node] for v in handles})
            if layer is None or layer.number == number:
                try:
                    inline(call)
                except MalformedGraph as error:
                    raise CannotRun(str(error)) from None
                continue
            pairs = zip(function.args.values(), call.inputs, strict=True)
            arguments = [(arg.name, value) for arg, value in pairs if value.node not in body.variables]
            body.regions[call] = LayerRegion(layer, {call}, arguments=arguments)
    raise CannotRun("calls are nested too deeply")


def _find_scopes(body: TracedBody, saved: SavedLayers, ends: Sequence[Node]) -> None:
    """Find the calls of known layers that are inlined, by their variables and name scopes."""
    needed = {node for node in data_needed_by(ends) if node not in body.regions}
    scopes: dict[str, SavedLayer] = {}
    for node in needed:
        for value in node.inputs:
            layer = saved.owners.get(body.variables.get(value.node, -1))
            if layer is not None and (scope := _scope(node.name, layer.name)):
                scopes[scope] = layer
    for scope, layer in scopes.items():
        inside = {n for n in needed if n.name.startswith(f"{scope}/") and n not in body.regions}
        for nodes in _connected(inside):
            reads = [n for n in nodes if any(v.node in body.variables for v in n.inputs)]
            handles = [v.node for n in reads for v in n.inputs if v.node in body.variables]
            single = any(part in layer.class_name for part in SINGLE_READ)
            foreign = any(saved.owners.get(body.variables[h]) != layer for h in handles)
            if not handles or foreign or (single and len(set(handles)) < len(handles)):
                continue
            region = LayerRegion(layer, nodes, scope)
            body.regions.update(dict.fromkeys(nodes, region))


def _scope(node: str, layer: str) -> str:
    """The name scope of a layer that a node is in; empty if it is in none."""
    parts = node.split("/")
    pattern = re.compile(rf"{re.escape(layer)}(_\d+)?")
    for exact in (True, False):
        for index in range(len(parts) - 2, -1, -1):
            if parts[index] == layer or (not exact and pattern.fullmatch(parts[index])):
                return "/".join(parts[: index + 1])
    return ""


def _connected(nodes: Iterable[Node]) -> list[set[Node]]:
    """Groups of nodes that read each other; constants belong to the group of what reads them."""
    waiting, groups = set(nodes), list[set[Node]]()
    inside = set(waiting)
    while waiting:
        group, edge = set[Node](), [waiting.pop()]
        while edge:
            node = edge.pop()
            group.add(node)
            users = [user for value in node.read_outputs for user in value.uses]
            near = [value.node for value in node.inputs] + (users if node.op != "Const" else [])
            for other in near:
                if other in inside and other not in group and other in waiting:
                    waiting.discard(other)
                    edge.append(other)
        groups.append(group)
    return groups
