"""Where the text of an input comes from, and whether a result leaves the model: across calls of functions.

What is not known counts as possible: a call whose arguments cannot be matched passes each of its inputs to
each argument of the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from tfport.check.node_contexts import NodeContexts
from tfport.graph.constants import constant_texts
from tfport.graph.graph import ARG, Function, Graph, Node, Value
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import BRANCHING, SHAPE_OPS
from tfport.graph.state import assets, origin
from tfport.startup.dataclass import dataclass, field

ASSIGNS = ("AssignVariableOp", "Assign")
PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
READS = ("ReadFile", "RestoreV2", "Restore", "RestoreSlice")
"""Ops whose results are the content of a file, not made of their inputs."""
SIZES = (*SHAPE_OPS, "VariableShape")
DEEPEST = 20


@dataclass
class TextSources:
    """What a text is made of."""

    constants: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    """Files of the model itself."""
    inputs: list[str] = field(default_factory=list)
    """Inputs of signatures: the caller of the model chooses them."""
    saver: bool = False
    """Whether it is the checkpoint of the model, whose name the loader gives."""
    computed: bool = False
    """Whether something else is in it: a variable, or the content of a file."""

    @property
    def is_own(self) -> bool:
        """Whether it can only be a file of the model."""
        others = self.constants or self.inputs or self.computed
        return bool(self.assets or self.saver) and not others


class DataFlow:
    """Follows values through the graphs of a model."""

    def __init__(self, model: Model, contexts: NodeContexts) -> None:
        self._model, self._contexts = model, contexts

    def sources(self, value: Value) -> TextSources:
        """What a text may be made of."""
        sources = TextSources()
        seen, stack = {value}, [value]
        while stack:
            value = stack.pop()
            for before in self._before(value, sources):
                if before not in seen:
                    seen.add(before)
                    stack.append(before)
        return sources

    def _before(self, value: Value, sources: TextSources) -> Sequence[Value]:
        node = value.node
        if node.name in self._assets and not isinstance(node.graph, Function):
            sources.assets.append(self._assets[node.name])
        elif node.name == self._saver_file and not isinstance(node.graph, Function):
            sources.saver = True
        elif node.op == "Const":
            sources.constants += constant_texts(value)
        elif node.op == ARG and isinstance(node.graph, Function):
            return list(self._passed(node.graph, node.graph.arguments.index(value)))
        elif node.op in PLACEHOLDERS:
            sources.inputs.append(self._input_names.get(value, node.name))
        elif node in self._assigned:
            return self._assigned[node]
        elif node.op in SIZES:
            pass  # as large as a tensor that exists
        elif node.inputs and node.op not in READS:
            return node.inputs
        else:
            sources.computed = True
        return ()

    def _passed(self, function: Function, index: int) -> Iterator[Value]:
        """The values that calls pass as an argument of a function."""
        for call in self._calls.get(function.name, ()):
            values = call.inputs[1:] if call.op in BRANCHING else call.inputs  # the first one chooses
            yield from values[index : index + 1] if len(values) == len(function.arguments) else values

    def is_returned(self, node: Node) -> bool:
        """Whether an output of a signature depends on the value of a node."""
        seen, stack = set(node.outputs), list(node.outputs)
        while stack:
            value = stack.pop()
            if value in self._outputs:
                return True
            for after in self._after(value):
                if after not in seen:
                    seen.add(after)
                    stack.append(after)
        return False

    def _after(self, value: Value) -> Iterator[Value]:
        graph = value.node.graph
        if isinstance(graph, Function) and value in graph.results:
            for call in self._calls.get(graph.name, ()):
                index, known = graph.results.index(value), len(call.outputs) == len(graph.results)
                yield from call.outputs[index : index + 1] if known else call.outputs
        for user in value.uses:
            yield from user.outputs
            for name in self._callees.get(user, ()):
                yield from self._model.graph.library.functions[name].arguments

    @cached_property
    def _callees(self) -> dict[Node, list[str]]:
        library = self._model.graph.library.functions
        graphs: list[Graph] = [self._model.graph, *library.values()]
        return {
            call: [name for name in names if name in library]
            for graph in graphs
            for call, names in self._contexts.callers.of(graph)
        }

    @cached_property
    def _calls(self) -> dict[str, list[Node]]:
        """The calls of each function."""
        calls: dict[str, list[Node]] = {}
        for call, names in self._callees.items():
            for name in names:
                calls.setdefault(name, []).append(call)
        return calls

    @cached_property
    def _assigned(self) -> dict[Node, list[Value]]:
        """What is assigned to each variable: TensorFlow 2 keeps the name of an asset in one."""
        values: dict[Node, list[Value]] = {}
        for node in self._model.graph:
            if node.op in ASSIGNS and len(node.inputs) > 1:
                values.setdefault(origin(node.inputs[0], {}), []).append(node.inputs[1])
        return values

    @cached_property
    def _outputs(self) -> set[Value]:
        return {value for s in self._model.signatures.values() for value in self._model.ends_of(s)}

    @cached_property
    def _input_names(self) -> dict[Value, str]:
        """The name of a signature's input by its value."""
        names: dict[Value, str] = {}
        for signature in self._model.signatures.values():
            for name, spec in signature.inputs.items():
                for tensor in spec.tensors:
                    node = self._model.graph.find(tensor.partition(":")[0])
                    if node is not None and node.outputs:
                        names.setdefault(node.outputs[0], name)
        return names

    @cached_property
    def _assets(self) -> dict[str, str]:
        return {asset.tensor.partition(":")[0]: asset.file for asset in assets(self._model)}

    @cached_property
    def _saver_file(self) -> str:
        return self._model.meta.saver_def.filename_tensor_name.partition(":")[0]


def literal_text(value: Value, depth: int = 0) -> str | None:
    """A text that the graph computes from constants alone; None if it depends on anything else."""
    node = value.node
    if depth > DEEPEST:
        return None
    if node.op == "Const":
        texts = constant_texts(value)
        return ", ".join(texts) if texts else None
    if node.op in ("Identity", "Reshape", "ExpandDims", "Squeeze") and node.inputs:
        return literal_text(node.inputs[0], depth + 1)
    if node.op in ("StringJoin", "Pack"):
        parts = [literal_text(part, depth + 1) for part in node.inputs]
        separator = node.attrs.get("separator", "") if node.op == "StringJoin" else ", "
        return _text(separator).join(part for part in parts if part) if all(parts) else None
    return None


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
