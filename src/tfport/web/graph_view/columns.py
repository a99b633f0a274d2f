"""A graph by columns: lists of names, ops, roles and edges, small as JSON and fast to make.

Node `i` is `names[i]`; edge `j` goes from `source[j]` to `target[j]` and has the type
`types[edge_type[j]]`. What a node or an edge is, is decided in `node_graph`, `lite_graph` and
`layer_graph`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tfport.startup.dataclass import dataclass, field

VERSION = 1


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

    def add_edge(self, source: int, output: int, target: int, place: int, type: str) -> None:
        """Add an edge from an output of a node, -1 for all of them as a list, to an input of another."""
        number = self._type_numbers.get(type)
        if number is None:
            number = self._type_numbers[type] = len(self.types)
            self.types.append(type)
        self.source.append(source)
        self.source_output.append(output)
        self.target.append(target)
        self.target_input.append(place)
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
