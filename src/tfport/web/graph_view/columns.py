"""A graph by columns: lists of names, ops, roles, edges and attributes, small as JSON and fast to make.

Node `i` is `names[i]`; edge `j` goes from `source[j]` to `target[j]` and has the type
`types[edge_type[j]]`. What a node or an edge is, is decided in `node_graph`, `lite_graph` and
`layer_graph`.

Calls join the inputs and outputs of a node with the arguments and results of the graphs that it calls. That
is known for calls, branches and loops, whose inputs are the arguments one by one. Other nodes that have
functions, such as those of `tf.data`, call them with elements that come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any

from tfport.formats.lite.records import LiteFile, LiteOperator
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Node
from tfport.graph.op_facts.kinds import BRANCHING, CALLS, WHILES
from tfport.startup.dataclass import dataclass, field

VERSION = 1
Json = dict[str, Any]


class NodeRole(IntEnum):
    """What a node is to someone who looks at a graph."""

    OP = 0
    CONSTANT = 1
    VARIABLE = 2
    INPUT = 3
    OUTPUT = 4
    CALL = 5
    """It calls other graphs."""


@dataclass(slots=True)
class GraphCall:
    """A node that calls graphs."""

    node: int
    graphs: list[str]
    """Their ids."""
    first_input: int | None = None
    """The input of the node that is the first argument of each graph; None if they come from elsewhere."""
    results: list[str] = field(default_factory=list)
    """The graphs whose results are the outputs of the node."""

    def to_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "graphs": self.graphs,
            "first_input": self.first_input,
            "results": self.results,
        }


@dataclass(slots=True)
class GraphColumns:
    """Nodes and edges of one graph."""

    names: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    op: list[int] = field(default_factory=list)
    role: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    source_output: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    target_input: list[int] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    edge_type: list[int] = field(default_factory=list)
    control_source: list[int] = field(default_factory=list)
    control_target: list[int] = field(default_factory=list)
    calls: list[GraphCall] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    """The nodes that stand for what a caller passes, in order."""
    results: list[int] = field(default_factory=list)
    """The nodes that stand for what a caller gets, in order."""
    _numbers: dict[str, int] = field(default_factory=dict)
    _type_numbers: dict[str, int] = field(default_factory=dict)
    _index: dict[str, int] = field(default_factory=dict)

    def add_node(self, name: str, op: str, role: NodeRole) -> int:
        """Add a node and return its index; a name that is taken gets a number."""
        if name in self._index:
            name = self._free(name)
        index = self._index[name] = len(self.names)
        self.names.append(name)
        number = self._numbers.get(op)
        if number is None:
            number = self._numbers[op] = len(self.ops)
            self.ops.append(op)
        self.op.append(number)
        self.role.append(role)
        return index

    def add_edge(self, source: int, output: int, target: int, index: int, type: str) -> None:
        """Add an edge from an output of a node, -1 for all of them as a list, to an input of another."""
        number = self._type_numbers.get(type)
        if number is None:
            number = self._type_numbers[type] = len(self.types)
            self.types.append(type)
        self.source.append(source)
        self.source_output.append(output)
        self.target.append(target)
        self.target_input.append(index)
        self.edge_type.append(number)

    def add_control(self, source: int, target: int) -> None:
        """Add an edge that only orders two nodes."""
        self.control_source.append(source)
        self.control_target.append(target)

    def index_of(self, name: str) -> int | None:
        """The index of the node with this name."""
        return self._index.get(name)

    def names_with_op(self, op: str) -> list[str]:
        """The names of all nodes of an op."""
        number = self._numbers.get(op)
        return [name for name, own in zip(self.names, self.op, strict=True) if own == number]

    def _free(self, name: str) -> str:
        number = 1
        while f"{name} ({number})" in self._index:
            number += 1
        return f"{name} ({number})"

    def details(
        self, id: str, index: int, attributes: list[Json], calls: list[Json], value: Json | None = None
    ) -> Json:
        """The document of a node that is not one of TensorFlow; `node_details` has those that are."""
        return {
            "version": VERSION,
            "graph": id,
            "node": self.names[index],
            "op": self.ops[self.op[index]],
            "device": "",
            "role": self.role[index],
            "attributes": attributes,
            "inputs": list(edges_in(self, index)),
            "controls": [],
            "outputs": list(edges_out(self, index)),
            "control_readers": [],
            "calls": calls,
            "value": value,
            "tensor": None,
            "since": None,
            "until": None,
            "text": "",
        }

    def to_json(self, id: str, name: str, kind: str) -> dict[str, Any]:
        """The document, with the identity of the graph."""
        return {
            "version": VERSION,
            "id": id,
            "name": name,
            "kind": kind,
            "names": self.names,
            "ops": self.ops,
            "op": self.op,
            "role": self.role,
            "source": self.source,
            "source_output": self.source_output,
            "target": self.target,
            "target_input": self.target_input,
            "types": self.types,
            "edge_type": self.edge_type,
            "control_source": self.control_source,
            "control_target": self.control_target,
            "calls": [call.to_json() for call in self.calls],
            "arguments": self.arguments,
            "results": self.results,
        }


# Calls of graphs

FIRST_INPUTS = {
    **dict.fromkeys((*CALLS, *WHILES, "_While"), 0),
    **dict.fromkeys((*BRANCHING, "_If"), 1),
}
"""The input that is the first argument: the condition or the index of a branch is not passed on."""
LITE_FIRST_INPUTS = {"CALL": 0, "WHILE": 0, "STABLEHLO_WHILE": 0, "IF": 1, "STABLEHLO_CASE": 1}
CONDITIONS = ("cond", "cond_subgraph_index")
"""The graph that decides whether a loop goes on; its result is no output."""


def node_call(node: Node, index: int, ids: Mapping[str, str]) -> GraphCall:
    """The call of a node; `ids` are the graphs of the functions that it names."""
    graphs = list(dict.fromkeys(ids.values()))
    first = 0 if node.op in ids else FIRST_INPUTS.get(node.op)
    functions = node.graph.library.functions
    if first is None or any(len(functions[name].arguments) != len(node.inputs) - first for name in ids):
        return GraphCall(index, graphs)
    condition = node.attr(CONDITIONS[0])
    decides = ids.get(condition.name) if isinstance(condition, FunctionRef) else None
    return GraphCall(index, graphs, first, [id for id in graphs if id != decides])


def operator_call(op: LiteOperator, index: int, called: Mapping[str, int], file: LiteFile) -> GraphCall:
    """The call of an operator of a TensorFlow Lite file; `called` are the subgraphs by option."""
    graphs = list(dict.fromkeys(f"s{number}" for number in called.values()))
    first = LITE_FIRST_INPUTS.get(op.code.name)
    counts = {len(file.subgraphs[number].inputs) for number in called.values()}
    if first is None or counts != {len(op.inputs) - first}:
        return GraphCall(index, graphs)
    results = dict.fromkeys(f"s{n}" for option, n in called.items() if option not in CONDITIONS)
    return GraphCall(index, graphs, first, list(results))


# Edges of a node, and attributes as text

MOST_READERS = 100
LONGEST = 500


def attribute(name: str, value: object) -> dict[str, Any]:
    """An attribute as text, shortened."""
    text = str(value)
    return {"name": name, "value": text if len(text) < LONGEST else f"{text[:LONGEST]}…", "default": False}


def edges_in(columns: GraphColumns, index: int) -> Iterator[dict[str, Any]]:
    """What a node reads, in order."""
    for edge, target in enumerate(columns.target):
        if target == index:
            yield {
                "argument": "",
                "node": columns.names[columns.source[edge]],
                "index": columns.source_output[edge],
                "type": columns.types[columns.edge_type[edge]],
            }


def edges_out(columns: GraphColumns, index: int) -> Iterator[dict[str, Any]]:
    """Its outputs, with the nodes that read them."""
    outputs: dict[int, dict[str, Any]] = {}
    for edge, source in enumerate(columns.source):
        if source != index:
            continue
        output_index = columns.source_output[edge]
        type = columns.types[columns.edge_type[edge]]
        new = {"argument": "", "index": output_index, "type": type, "readers": [], "more": 0}
        output = outputs.setdefault(output_index, new)
        if len(output["readers"]) < MOST_READERS:
            output["readers"].append(columns.names[columns.target[edge]])
        else:
            output["more"] += 1
    yield from (outputs[output_index] for output_index in sorted(outputs))


# Attributes for a search

HIDDEN = ("_output_shapes", "value")
"""Values of constants are no attributes to a reader, and large."""
LONGEST_ATTRIBUTE = 120


def text_matches(attributes: Iterable[Mapping[str, Any]], wanted: str) -> bool:
    """Whether an attribute is the one of `name`, or of `name=part of the value`, in lower case."""
    name, equals, part = wanted.partition("=")
    values = [each["value"] for each in attributes if each["name"].lower() == name and name not in HIDDEN]
    return bool(values) and (not equals or any(part in text.lower() for text in values))


def attribute_columns(nodes: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, Any]:
    """Attributes by columns, for a page without a server: `texts[nodes[i][k]]` is the `k`th of node `i`."""
    numbers: dict[str, int] = {}
    columns = [
        [
            numbers.setdefault(f"{each['name']}={each['value']}"[:LONGEST_ATTRIBUTE], len(numbers))
            for each in attributes
            if each["name"] not in HIDDEN
        ]
        for attributes in nodes
    ]
    return {"texts": list(numbers), "nodes": columns}


# Summaries

GRAPH, FUNCTION, BRANCH, LOOP, SUBGRAPH, LAYERS = "graph", "function", "branch", "loop", "subgraph", "layers"


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """A graph of a model, without its nodes."""

    id: str
    name: str
    """The name of the function, subgraph or model; empty for a main graph."""
    kind: str
    nodes: int
    callers: int = 0
    signatures: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "nodes": self.nodes,
            "callers": self.callers,
            "signatures": self.signatures,
        }
