"""The difference of two graphs: nodes that were added, are gone, changed, or are equal.

Nodes are matched by name first. What is left is matched by structure: two nodes with the same op and
attributes whose inputs are matched in the same order are the same node with another name. The rest was
added or is gone. A matched node is changed if its op, attributes, device, inputs or control inputs differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.errors import Error, MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.text import attr_text
from tfport.startup.dataclass import dataclass, field

IGNORED = ("_output_shapes", "_class", "_xla_inferred_shapes")
MOST_PASSES = 50
MOST_REASONS = 20
LONGEST = 120


@dataclass
class GraphDifference:
    """What differs between graph a and graph b."""

    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    changed: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """The names in a and in b, and what differs."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Equal nodes with other names."""
    same: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "added": self.added,
            "gone": self.gone,
            "changed": [{"a": a, "b": b, "what": what} for a, b, what in self.changed],
            "renamed": [list(pair) for pair in self.renamed],
            "same": self.same,
        }


def graph_difference(a: Graph, b: Graph) -> GraphDifference:
    """Compare two graphs; functions that they call are compared by name only."""
    ours, theirs = _nodes(a), _nodes(b)
    matched = {node: theirs[name] for name, node in ours.items() if name in theirs}
    _match_by_structure(ours, theirs, matched)
    difference = GraphDifference()
    taken = set(matched.values())
    difference.gone = [name for name, node in ours.items() if node not in matched]
    difference.added = [name for name, node in theirs.items() if node not in taken]
    for node, other in matched.items():
        what = list(_differences(node, other, matched))[:MOST_REASONS]
        if what:
            difference.changed.append((node.name, other.name, what))
        elif node.name != other.name:
            difference.renamed.append((node.name, other.name))
        else:
            difference.same += 1
    return difference


def _nodes(graph: Graph) -> dict[str, Node]:
    """All nodes by name, with the arguments and returns of a function."""
    nodes: dict[str, Node] = {}
    if isinstance(graph, Function):
        nodes |= graph.args
    nodes |= graph.nodes
    for end in graph.ends:
        nodes.setdefault(end.name, end)
    return nodes


def _match_by_structure(
    ours: Mapping[str, Node], theirs: Mapping[str, Node], matched: dict[Node, Node]
) -> None:
    """Match the rest, from the inputs on: the k-th node of a kind with the k-th of the same kind."""
    taken = set(matched.values())
    for _ in range(MOST_PASSES):
        left = [node for node in ours.values() if node not in matched]
        right = [node for node in theirs.values() if node not in taken]
        if not left or not right:
            return
        same = {other: other for other in theirs.values()}
        candidates: dict[object, list[Node]] = {}
        for other in reversed(right):
            if (key := _key(other, same)) is not None:
                candidates.setdefault(key, []).append(other)
        before = len(matched)
        for node in left:
            key = _key(node, matched)
            if key is not None and candidates.get(key):
                matched[node] = candidates[key].pop()
                taken.add(matched[node])
        if len(matched) == before:
            return


def _key(node: Node, matched: Mapping[Node, Node]) -> object:
    """What a node computes, in terms of nodes of graph b; None while an input is not matched."""
    inputs: list[tuple[Node, int]] = []
    for value in node.inputs:
        other = matched.get(value.node)
        if other is None:
            return None
        inputs.append((other, value.index))
    return node.op, tuple(inputs), tuple(_attr_texts(node).items())


def _attr_texts(node: Node) -> dict[str, str]:
    try:
        attrs: Mapping[str, Attr] = node.attrs
    except MalformedGraph:
        return {}
    signature = node.signature
    known = dict(signature.with_defaults(attrs)) if signature is not None else attrs
    return {name: _text(value) for name, value in sorted(known.items()) if name not in IGNORED}


def _text(value: Attr) -> str:
    try:
        return attr_text(value)
    except Error:
        return "unreadable"


def _differences(node: Node, other: Node, matched: Mapping[Node, Node]) -> Iterator[str]:
    if node.op != other.op:
        yield f"op {node.op} → {other.op}"
    yield from _attr_differences(_attr_texts(node), _attr_texts(other))
    if node.device != other.device:
        yield f"device {node.device or 'none'} → {other.device or 'none'}"
    inputs = [(matched.get(value.node), value.index) for value in node.inputs]
    if inputs != [(value.node, value.index) for value in other.inputs]:
        yield f"inputs {_listed(map(str, node.inputs))} → {_listed(map(str, other.inputs))}"
    if {matched.get(control) for control in node.controls} != set(other.controls):
        before, after = _listed(map(str, node.controls)), _listed(map(str, other.controls))
        yield f"control inputs {before} → {after}"


def _attr_differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        before, after = ours.get(name), theirs.get(name)
        if before != after:
            yield f"{name} {_shortened(before)} → {_shortened(after)}"


def _listed(names: Iterator[str]) -> str:
    return _shortened(", ".join(names) or "none")


def _shortened(text: str | None) -> str:
    if text is None:
        return "none"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
