"""The columns of a graph of TensorFlow ops (main graph or body of a function), and what its nodes are for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from tfport.graph.graph import ARG, WHOLE, Function, Graph, Node
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.model import Model
from tfport.graph.reach import Callers, needed_by
from tfport.graph.state import VARIABLES
from tfport.startup.dataclass import dataclass
from tfport.web.graph_view.columns import GraphColumns, NodeRole, node_call
from tfport.web.graph_view.value_types import ValueTypes

MISSING = "(missing)"
"""The op of a node that others read and that is not in the file."""
CONSTANTS = ("Const", "HostConst", "ImmutableConst")
INPUTS = (ARG, "Placeholder", "PlaceholderWithDefault", "PlaceholderV2")
ROLES = {
    **dict.fromkeys(CONSTANTS, NodeRole.CONSTANT),
    **dict.fromkeys(VARIABLES, NodeRole.VARIABLE),
    **dict.fromkeys(INPUTS, NodeRole.INPUT),
}


def nodes_of(graph: Graph) -> Iterator[Node]:
    """All nodes to show, in order: arguments, nodes, missing nodes, returns."""
    if isinstance(graph, Function):
        yield from graph.args.values()
    yield from graph
    yield from graph.missing.values()
    yield from graph.ends


def node_columns(
    graph: Graph,
    *,
    types: ValueTypes,
    callers: Callers,
    graph_id: Callable[[str], str | None],
    outputs: Container[Node] = (),
) -> tuple[GraphColumns, list[Node]]:
    """The columns of a graph, and its nodes in the same order; `outputs` are those of signatures."""
    columns, nodes = GraphColumns(), list(nodes_of(graph))
    ends = set(graph.ends)
    index = {
        node: columns.add_node(node.name, node.op or MISSING, _role(node, ends, outputs)) for node in nodes
    }
    for node, target in index.items():
        for number, value in enumerate(node.inputs):
            columns.add_edge(index[value.node], max(value.index, WHOLE), target, number, types.text(value))
        for control in node.controls:
            columns.add_control(index[control], target)
    for node, names in callers.of(graph):
        ids = {name: id for name in names if (id := graph_id(name)) is not None}
        if ids:
            columns.calls.append(node_call(node, index[node], ids))
            columns.role[index[node]] = NodeRole.CALL
    if isinstance(graph, Function):
        columns.arguments = [index[value.node] for value in graph.arguments]
        columns.results = [index[node] for node in graph.returns.values() for _ in node.inputs]
    return columns, nodes


def _role(node: Node, ends: Container[Node], outputs: Container[Node]) -> NodeRole:
    role = ROLES.get(node.op)
    if role is not None:
        return role
    return NodeRole.OUTPUT if node in ends or node in outputs else NodeRole.OP


# Parts of a main graph

SIGNATURE, LOADING, SAVING, REST = "signature", "loading", "saving", "rest"
MOST_SIGNATURES = 100


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Nodes of a graph with one purpose."""

    kind: str
    """`signature`, `loading`, `saving` or `rest`: training, and nodes that nothing uses."""
    name: str
    """Of a signature; empty for the outputs that were guessed."""
    nodes: list[int]

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "nodes": self.nodes}


def main_parts(model: Model, index: dict[Node, int]) -> list[GraphPart]:
    """The parts of the main graph, by the indices of its nodes.

    A node belongs to every signature that needs it. One that no signature needs belongs to one other part.
    """
    return list(_parts(model, index))


def _parts(model: Model, index: dict[Node, int]) -> Iterator[GraphPart]:
    seen: set[Node] = set()
    guessed = graph_outputs(model)
    signatures = {"": guessed.signature} if guessed is not None else model.signatures
    for name, signature in list(signatures.items())[:MOST_SIGNATURES]:
        starts = model.starts_of(signature)
        nodes = needed_by({value.node for value in model.ends_of(signature)}, starts)
        nodes |= {value.node for value in starts}
        seen |= nodes
        yield GraphPart(SIGNATURE, name, _indices(nodes, index))
    for kind, last in ((LOADING, model.init_nodes + model.restore_nodes), (SAVING, model.save_nodes)):
        nodes = needed_by(last) - seen
        seen |= nodes
        yield GraphPart(kind, "", _indices(nodes, index))
    yield GraphPart(REST, "", _indices((node for node in index if node not in seen), index))


def _indices(nodes: Iterable[Node], index: dict[Node, int]) -> list[int]:
    return sorted(index[node] for node in nodes if node in index)
