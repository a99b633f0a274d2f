"""Find parts of a graph that are equal but for small constants, and whose results are concatenated.

Detectors suppress boxes class by class: the same forty nodes for each of ninety classes, which differ in the
number of the class. Such copies are one loop (`repeated_loops`), which is planned ninety times as fast.
Only parts that suppress boxes are taken: how many they return is known when they run, so a loop need not
compute them at once. Copies are stateless and have no branches, loops or calls of functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node, Value
from tfport.graph.inline import callee
from tfport.graph.op_facts.kinds import ENTERS, EXITS, MERGES, NEXTS, SWITCHES
from tfport.graph.tensors import Tensor
from tfport.runtime.ops.control.conditions import Conditions, Literals
from tfport.startup.dataclass import dataclass

CONCAT, CONSTANT = "ConcatV2", "Const"
LEAST_COPIES = 6
MOST_ELEMENTS = 64
"""The largest constant that may differ between copies."""
SUPPRESSIONS = frozenset(
    f"NonMaxSuppression{version}" for version in ("", "V2", "V3", "V4", "V5", "WithOverlaps")
)
CONTROL_FLOW = frozenset((*SWITCHES, *MERGES, *ENTERS, *EXITS, *NEXTS, "LoopCond"))
AttrsAsRead = dict[str, pb.AttrValue]
Copy = dict[Node, Node]
"""For each node of the first copy, that of another one."""


@dataclass(frozen=True)
class RepeatedParts:
    """Copies of some nodes, and the nodes that concatenate their results."""

    ends: list[Node]
    inside: frozenset[Node]
    """The nodes of the first copy."""
    others: list[Copy]
    varying: dict[Node, list[Tensor]]
    """The constants of the first copy that differ from others, and their values in all copies."""
    inputs: list[Value]
    """What the copies read from outside, and the axes of the ends."""
    controls: list[Node]

    @property
    def count(self) -> int:
        return 1 + len(self.others)

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes of all copies."""
        yield from self.inside
        for copy in self.others:
            yield from copy.values()


def repeated_parts(
    among: Collection[Node], fetched: Collection[Node], conditions: Conditions
) -> list[RepeatedParts]:
    """The repeated parts among the nodes of a graph, of which some are fetched."""
    groups: dict[tuple[int, Literals, frozenset[Node]], list[Node]] = {}
    wide = (node for node in among if node.op == CONCAT and len(node.inputs) > LEAST_COPIES)
    for node in sorted(wide, key=lambda node: node.name):
        copy = _copy([node.inputs[0]], [node.inputs[1]], {})
        suppressions = frozenset(inner for inner in copy or () if inner.op in SUPPRESSIONS)
        if suppressions:
            key = len(node.inputs), conditions.of(node), suppressions
            groups.setdefault(key, []).append(node)
    several = (_parts(ends) for ends in groups.values())
    return [parts for parts in several if parts is not None and not _is_read(parts, among, fetched)]


def _parts(ends: list[Node]) -> RepeatedParts | None:
    count = len(ends[0].inputs) - 1
    roots = [[end.inputs[i] for end in ends] for i in range(count)]
    attrs: dict[Node, AttrsAsRead] = {}
    others = [_copy(roots[0], other, attrs) for other in roots[1:]]
    first = others[0]
    if first is None or not all(map(_is_plain, first)):
        return None
    copies = [copy for copy in others if copy is not None and copy.keys() == first.keys()]
    if len(copies) != count - 1:
        return None
    varying = {}
    for node in first:
        if node.op == CONSTANT and any(not _same_attrs(node, copy[node], attrs) for copy in copies):
            tensors = _alike([node, *(copy[node] for copy in copies)])
            if tensors is None:
                return None
            varying[node] = tensors
    read = dict.fromkeys(v for node in first for v in node.inputs if v.node not in first)
    read.update(dict.fromkeys(v for v in roots[0] if v.node not in first))
    read.update(dict.fromkeys(end.inputs[-1] for end in ends))
    waits = dict.fromkeys(c for node in (*first, *ends) for c in node.controls if c not in first)
    inside = frozenset(first)
    return (
        RepeatedParts(ends, inside, copies, varying, list(read), list(waits))
        if _is_before([*(v.node for v in read), *waits], {*ends, *inside})
        else None
    )


def _is_read(parts: RepeatedParts, among: Collection[Node], fetched: Collection[Node]) -> bool:
    """Whether more is read of the copies than what their ends concatenate: that would be computed twice."""
    copies = {node for node in parts.nodes if node.op != CONSTANT}
    inside = copies.union(parts.ends)
    return not copies.isdisjoint(fetched) or any(
        user not in inside and user in among for node in copies for user in node.users
    )


def _copy(first: Sequence[Value], other: Sequence[Value], attrs: dict[Node, AttrsAsRead]) -> Copy | None:
    """The nodes that differ on the way to some values, with those on the way to other values.

    None if they do not compute the same, but for constants. `attrs`: those of the first nodes, which are
    compared with many others.
    """
    pairs: Copy = {}
    shared: set[Node] = set()
    stack: list[tuple[Node, Node]] = []
    if not _add_nodes(first, other, stack, shared):
        return None
    while stack:
        node, same = stack.pop()
        known = pairs.get(node)
        if known is not None:
            if known is not same:
                return None
            continue
        if node.op != same.op or (node.op != CONSTANT and not _same_attrs(node, same, attrs)):
            return None
        pairs[node] = same
        if len(node.controls) != len(same.controls):
            return None
        for waited, other_waited in zip(node.controls, same.controls, strict=True):
            if waited is other_waited:
                shared.add(waited)
            else:
                stack.append((waited, other_waited))
        if not _add_nodes(node.inputs, same.inputs, stack, shared):
            return None
    return pairs if shared.isdisjoint(pairs) else None


def _add_nodes(
    first: Sequence[Value], other: Sequence[Value], stack: list[tuple[Node, Node]], shared: set[Node]
) -> bool:
    """Add the nodes of two lists of values to those to compare, or to shared ones.

    False if these are not the same outputs.
    """
    if len(first) != len(other):
        return False
    for a, b in zip(first, other, strict=True):
        if a is b:
            shared.add(a.node)
        elif a.index == b.index:
            stack.append((a.node, b.node))
        else:
            return False
    return True


def _is_plain(node: Node) -> bool:
    """Whether a node can be in a loop body: it only computes, and reads no argument or fed tensor."""
    if not node.inputs:
        return node.op == CONSTANT
    return not node.is_stateful and node.op not in CONTROL_FLOW and callee(node) is None


def _same_attrs(node: Node, other: Node, known: dict[Node, AttrsAsRead]) -> bool:
    read, other_read = node.attrs_as_read, other.attrs_as_read
    if read is not None and other_read is not None:
        attrs_read = known.get(node)
        if attrs_read is None:
            attrs_read = known[node] = dict(read)
        if attrs_read == dict(other_read):  # faster than to compare the maps, or to decode them
            return True
        if not any(name.startswith("_") for name in attrs_read):
            return False
    attrs, others = _public(node.attrs), _public(other.attrs)
    return attrs.keys() == others.keys() and all(_same(attrs[name], others[name]) for name in attrs)


def _public(attrs: Mapping[str, Attr]) -> dict[str, Attr]:
    """The attributes that the op defines; others say nothing about what a node computes."""
    return {name: value for name, value in attrs.items() if not name.startswith("_")}


def _same(value: object, other: object) -> bool:
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return value.to_proto() == other.to_proto()
    return value == other


def _alike(nodes: Sequence[Node]) -> list[Tensor] | None:
    """The values of constants, if they are small and have one type and shape."""
    tensors = [value for node in nodes if isinstance(value := node.attr("value"), Tensor)]
    first = tensors[0] if tensors else None
    if first is None or len(tensors) != len(nodes) or (first.shape.size or 0) > MOST_ELEMENTS:
        return None
    return tensors if all((t.dtype, t.shape) == (first.dtype, first.shape) for t in tensors) else None


def _is_before(nodes: Sequence[Node], parts: set[Node]) -> bool:
    """Whether some nodes run before others in an iteration: they do not depend on them."""
    seen = set(nodes)
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node in parts:
            return False
        if node.op not in NEXTS:
            before = [n for n in (*(v.node for v in node.inputs), *node.controls) if n not in seen]
            seen.update(before)
            stack += before
    return True
