"""The subgraphs of a TensorFlow Lite file by columns, and their nodes in detail.

Operators have no names in these files: each is named after its first output. Constants, inputs and
outputs are nodes of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tfport.formats.lite.records import NO_TENSOR, LiteFile, LiteOperator, LiteTensor, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.frontends.lite.build import file_signatures
from tfport.frontends.lite.constants import constant_array, has_data, lite_dtype
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass, field
from tfport.web.graph_view.columns import (
    SUBGRAPH,
    GraphColumns,
    GraphSummary,
    NodeRole,
    attribute,
    operator_call,
)
from tfport.web.graph_view.tensor_peek import tensor_peek
from tfport.web.graph_view.value_types import type_text

CONSTANT, VARIABLE, INPUT, OUTPUT = "(constant)", "(variable)", "(input)", "(output)"
SUBGRAPH_OPTIONS = "_subgraph_index"
"""How the names of options that call a subgraph end."""


@dataclass
class _Built:
    """A subgraph by columns, and what is at each node: an operator or a tensor."""

    columns: GraphColumns
    contents: list[LiteOperator | LiteTensor]
    sources: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By tensor: the node that computes or holds it, and the index among its outputs."""
    named: dict[int, int] = field(default_factory=dict)
    """By node: its tensor, if it is one."""


class LiteGraphs:
    """The subgraphs of a file."""

    def __init__(self, file: LiteFile) -> None:
        self.file = file
        self._built: dict[str, _Built] = {}

    def summaries(self) -> list[GraphSummary]:
        signatures: dict[int, list[str]] = {}
        for key, number, _, _ in file_signatures(self.file):
            signatures.setdefault(number, []).append(key)
        operators = (op for graph in self.file.subgraphs for op in graph.operators)
        callers = Counter(number for op in operators for _, number in _called(op))
        return [
            GraphSummary(
                f"s{number}",
                graph.name or f"subgraph {number}",
                SUBGRAPH,
                len(self._graph(f"s{number}").columns.names),
                callers[number],
                signatures.get(number, []),
            )
            for number, graph in enumerate(self.file.subgraphs)
        ]

    def columns(self, id: str) -> GraphColumns:
        return self._graph(id).columns

    def _graph(self, id: str) -> _Built:
        if id not in self._built:
            self._built[id] = _Builder(self.file, self.file.subgraphs[int(id[1:])]).build()
        return self._built[id]

    def details(self, id: str, name: str) -> dict[str, Any] | None:
        built = self._graph(id)
        index = built.columns.index_of(name)
        if index is None:
            return None
        content = built.contents[index]
        calls = [
            {"attribute": option, "graph": f"s{number}", "name": self.file.subgraphs[number].name}
            for option, number in (_called(content) if isinstance(content, LiteOperator) else ())
            if number < len(self.file.subgraphs)
        ]
        return built.columns.details(id, index, self.attributes(id, index), calls, self._value(content))

    def attributes(self, id: str, index: int) -> list[dict[str, Any]]:
        return list(_attributes(self._graph(id).contents[index]))

    def _value(self, content: LiteOperator | LiteTensor) -> dict[str, Any] | None:
        if isinstance(content, LiteOperator) or not has_data(self.file, content):
            return None
        return lite_peek(self.file, content)


def lite_peek(file: LiteFile, tensor: LiteTensor) -> dict[str, Any]:
    """Statistics and first elements of a constant."""
    dtype = lite_dtype(tensor.type)
    if dtype is None:
        return tensor_peek(tensor.type, Shape(None), None, lambda: constant_array(file, tensor))
    return tensor_peek(str(dtype), Shape(tensor.shape), None, lambda: constant_array(file, tensor))


class _Builder:
    """Builds the columns of a subgraph."""

    def __init__(self, file: LiteFile, graph: Subgraph) -> None:
        self.file, self.graph = file, graph
        self.built = _Built(GraphColumns(), [])

    def build(self) -> _Built:
        columns = self.built.columns
        for index in self.graph.inputs:
            columns.arguments.append(self._add_tensor(index, INPUT, NodeRole.INPUT))
        nodes = [self._add_operator(number, op) for number, op in enumerate(self.graph.operators)]
        for node, op in zip(nodes, self.graph.operators, strict=True):
            for place, index in enumerate(op.inputs):
                self._connect(index, node, place)
            called = {name: number for name, number in _called(op) if number < len(self.file.subgraphs)}
            if called:
                columns.calls.append(operator_call(op, node, called, self.file))
                columns.role[node] = NodeRole.CALL
        for index in self.graph.outputs:
            node = self._add_tensor(index, OUTPUT, NodeRole.OUTPUT, is_source=False)
            self._connect(index, node, 0)
            columns.results.append(node)
        return self.built

    def _add_operator(self, number: int, op: LiteOperator) -> int:
        name = next((self._name(index) for index in op.outputs if index != NO_TENSOR), f"operator {number}")
        node = self.built.columns.add_node(name, op.code.name, NodeRole.OP)
        self.built.contents.append(op)
        for place, index in enumerate(op.outputs):
            self.built.sources.setdefault(index, (node, place))
        return node

    def _add_tensor(self, index: int, kind: str, role: NodeRole, *, is_source: bool = True) -> int:
        name = self._name(index)
        node = self.built.columns.add_node(name if is_source else f"{name} {OUTPUT}", kind, role)
        self.built.contents.append(self._tensor(index))
        self.built.named[node] = index
        if is_source:
            self.built.sources[index] = node, 0
        return node

    def _connect(self, index: int, node: int, place: int) -> None:
        if not 0 <= index < len(self.graph.tensors):  # an optional input that is left out, or a broken file
            return
        if index not in self.built.sources:
            is_variable = self._tensor(index).is_variable
            self._add_tensor(
                index,
                VARIABLE if is_variable else CONSTANT,
                NodeRole.VARIABLE if is_variable else NodeRole.CONSTANT,
            )
        source, output = self.built.sources[index]
        self.built.columns.add_edge(source, output, node, place, lite_type(self._tensor(index)))

    def _tensor(self, index: int) -> LiteTensor:
        return self.graph.tensors[index]

    def _name(self, index: int) -> str:
        if not 0 <= index < len(self.graph.tensors):
            return f"tensor {index}"
        # a fused operator has the names of all that were fused
        parts = (part for part in self._tensor(index).name.split(";") if part)
        return next(parts, f"tensor {index}")


def lite_type(tensor: LiteTensor) -> str:
    """The type of a tensor: `int8 [1, 10]`."""
    dtype = lite_dtype(tensor.type)
    return type_text(str(dtype) if dtype is not None else tensor.type, tensor.dims)


def _called(op: LiteOperator) -> Iterator[tuple[str, int]]:
    """The options that name a subgraph."""
    for name, value in op.options.items():
        if (name.endswith(SUBGRAPH_OPTIONS) or name == "subgraph") and isinstance(value, int) and value >= 0:
            yield name, value


def _attributes(content: LiteOperator | LiteTensor) -> Iterator[dict[str, Any]]:
    if isinstance(content, LiteOperator):
        yield attribute("version", content.code.version)
        fields = lite_schema().tables.get(content.options_type, ())
        defaults = {field.name: field.default for field in fields if field.default is not None}
        for name, value in sorted({**defaults, **content.options}.items()):
            yield {**attribute(name, value), "default": name not in content.options}
        if content.custom_options:
            yield attribute("custom_options", f"{len(content.custom_options):,} bytes")
        return
    yield attribute("type", content.type)
    yield attribute("shape", list(content.dims))
    if (quantization := content.quantization) is not None:
        yield attribute("scale", list(quantization.scale))
        yield attribute("zero_point", list(quantization.zero_point))
        if quantization.is_per_channel:
            yield attribute("axis", quantization.axis)
