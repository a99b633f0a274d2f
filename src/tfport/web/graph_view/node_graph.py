"""The columns of a graph of TensorFlow ops: the main graph, or the body of a function."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from tfport.graph.graph import ARG, WHOLE, Function, Graph, Node
from tfport.graph.reach import Callers
from tfport.graph.state import VARIABLES
from tfport.web.graph_view.call_joins import node_call
from tfport.web.graph_view.columns import GraphColumns, NodeRole
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
    for node, place in index.items():
        for number, value in enumerate(node.inputs):
            columns.add_edge(index[value.node], max(value.index, WHOLE), place, number, types.text(value))
        for control in node.controls:
            columns.add_control(index[control], place)
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
