"""Reachability: the nodes that a result needs, their order, and the loops of a graph.

A TF1 loop is a cycle through `NextIteration`. Without these back edges a graph can
be sorted; any other cycle is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain

from tfport.errors import MalformedGraph
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.op_facts.kinds import ENTERS, EXITS, MERGES, NEXTS


def every_node(graph: Graph) -> Iterable[Node]:
    """The nodes of the main graph and of all functions."""
    return chain(graph, *graph.library.functions.values())


def needed_by(ends: Iterable[Node], fed: Iterable[Value] = ()) -> Set[Node]:
    """These nodes and all that they read or wait for, directly or indirectly, but not through fed values.

    They are always in the same order, so that what is done with each is reproducible.
    """
    seen, cut = dict.fromkeys(ends), frozenset(fed)
    stack = list(seen)
    while stack:
        node = stack.pop()
        for value in node.inputs:
            if value.node not in seen and value not in cut:
                seen[value.node] = None
                stack.append(value.node)
        for before in node.controls:
            if before not in seen:
                seen[before] = None
                stack.append(before)
    return seen.keys()


def functions_of(node: Node) -> Iterator[str]:
    """The names of the functions that a node calls: its op, or functions in its attributes."""
    if node.op in node.graph.library.functions:
        yield node.op
    signature = node.signature
    if signature is None:
        for value in node.attrs.values():
            yield from _function_names(value)
    elif signature.calls:
        for name in signature.calls:
            yield from _function_names(node.attrs.get(name))


def _function_names(value: object) -> Iterator[str]:
    if isinstance(value, FunctionRef):
        yield value.name
        for inner in value.attrs.values():
            yield from _function_names(inner)
    elif isinstance(value, list):
        for element in value:
            if isinstance(element, FunctionRef):
                yield from _function_names(element)


class Callers:
    """Finds nodes that call functions; caches the decision by op, as there are few ops and many nodes."""

    def __init__(self) -> None:
        self._may_call: dict[str, bool] = {}
        self._of_graphs: dict[Graph, list[tuple[Node, list[str]]]] = {}

    def among(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, list[str]]]:
        """The nodes that call functions, with the names of the functions."""
        for node in nodes:
            may_call = self._may_call.get(node.op)
            if may_call is None:
                signature = node.signature
                may_call = (
                    node.op in node.graph.library.functions or signature is None or bool(signature.calls)
                )
                self._may_call[node.op] = may_call
            if may_call and (names := list(functions_of(node))):
                yield node, names

    def of(self, graph: Graph) -> list[tuple[Node, list[str]]]:
        """The same for all nodes of a graph, cached."""
        calls = self._of_graphs.get(graph)
        if calls is None:
            calls = self._of_graphs[graph] = list(self.among(graph))
        return calls


def called_by(nodes: Iterable[Node], callers: Callers | None = None) -> dict[str, Function]:
    """All functions that these nodes call, directly or indirectly, by name; undefined ones are left out."""
    known = callers or Callers()
    functions: dict[str, Function] = {}
    stack = list(known.among(nodes))
    while stack:
        node, names = stack.pop()
        for name in names:
            function = node.graph.library.functions.get(name)
            if function is not None and name not in functions:
                functions[name] = function
                stack += known.of(function)
    return functions


def in_order(graph: Graph, among: Iterable[Node] | None = None) -> list[Node]:
    """The nodes in topological order, ignoring the back edges of loops."""
    order, stuck = _ordered(list(graph if among is None else among))
    if stuck is not None:
        raise MalformedGraph(f"the graph has a cycle: `{stuck.name}` needs its own result")
    return order


def is_listed_in_order(graph: Graph) -> bool:
    """Whether each node comes after all that it reads or waits for, as in most files: there is no cycle.

    A node that no other needs is on no cycle, and may come before nodes that it waits for.
    """
    seen: set[Node] = set(graph.args.values())
    nodes = graph.nodes
    for node in graph:
        for value in node.inputs:
            if value.node not in seen and value.node.name in nodes:
                return False
        for before in node.controls:
            if before not in seen and before.name in nodes:
                if any(nodes.get(user.name) is user for user in node.users):
                    return False
                break
        seen.add(node)
    return True


def on_cycle(graph: Graph) -> Node | None:
    """A node on a cycle, which needs its own result; None if there is no cycle."""
    return _ordered(list(graph))[1]


def _ordered(nodes: list[Node]) -> tuple[list[Node], Node | None]:
    """The nodes in topological order, and a node on the first cycle, if there is one."""
    inside = set(nodes)
    waiting = {node: len(_needs(node) & inside) if node.inputs or node.controls else 0 for node in nodes}
    ready = [node for node in nodes if not waiting[node]]
    order: list[Node] = []
    for node in ready:  # grows during the loop
        order.append(node)
        goes_back = node.op in NEXTS
        for user in node.users:
            if user in inside and not (goes_back and user.op in MERGES):
                waiting[user] -= 1
                if not waiting[user]:
                    ready.append(user)
    if len(order) == len(nodes):
        return order, None
    return order, _on_cycle(next(node for node in nodes if waiting[node]), waiting)


def _needs(node: Node) -> set[Node]:
    needed = {value.node for value in node.inputs}
    if node.controls:
        needed.update(node.controls)
    return {before for before in needed if before.op not in NEXTS} if node.op in MERGES else needed


def _on_cycle(node: Node, waiting: dict[Node, int]) -> Node:
    """A node on the cycle that blocks `node`: follow unfinished inputs until one repeats."""
    seen: set[Node] = set()
    while node not in seen:
        seen.add(node)
        node = next(before for before in _needs(node) if waiting.get(before))
    return node


def loops(graph: Graph) -> dict[str, list[Node]]:
    """The nodes of each TF1 loop by frame name; an outer loop includes its inner loops."""
    frames: dict[str, list[Node]] = {}
    for node in graph:
        frame = node.attrs.get("frame_name")
        if node.op in ENTERS and isinstance(frame, str):
            frames.setdefault(frame, []).append(node)
    return {frame: _inside(enters) for frame, enters in frames.items()}


def _inside(enters: list[Node]) -> list[Node]:
    """The nodes that run in each iteration: all after the Enter nodes, up to the Exit nodes."""
    depth = dict.fromkeys(enters, 1)
    stack = list(enters)
    while stack:
        node = stack.pop()
        for user in node.users:
            after = depth[node] + (user.op in ENTERS) - (node.op in EXITS)
            if after > 0 and user not in depth:
                depth[user] = after
                stack.append(user)
    return list(depth)
