"""Visit nodes in topological order: each after its inputs and control inputs.

A TF1 branch or loop is visited as one `ControlUnit`, which `ops.control` finds (`lower.control_units`); it
traces the nodes inside it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import MalformedGraph
from tfport.graph.graph import Node, Value

if TYPE_CHECKING:
    from tfport.runtime.operand import Operand


class ControlUnit(Protocol):
    """A TF1 branch or loop, or a loop over repeated parts, traced as one unit."""

    @property
    def inputs(self) -> Iterable[Value]:
        """The values from outside that it reads."""
        ...

    @property
    def controls(self) -> Iterable[Node]:
        """The nodes outside that must run before it."""
        ...

    def trace(self, tracer: Any, env: dict[Value, Operand], bindings: Mapping[str, Any]) -> None:
        """Add its step, and store its outputs in `env`."""
        ...


class ControlUnits(Protocol):
    """The units among some nodes of a graph."""

    @property
    def units(self) -> Mapping[Node, ControlUnit]:
        """For each node whose output leaves a unit: that unit."""
        ...

    def is_conditional(self, node: Node) -> bool:
        """Whether a node runs under a condition."""
        ...


def reached(ends: Iterable[Node]) -> set[Node]:
    """All nodes that `ends` depend on."""
    nodes: set[Node] = set()
    stack = list(ends)
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack += [value.node for value in node.inputs]
            stack += node.controls
    return nodes


def walk(
    ends: Iterable[Node],
    known: Mapping[Value, Operand],
    inside: Container[Node] | None = None,
    units: Mapping[Node, ControlUnit] | None = None,
) -> Iterator[Node | ControlUnit]:
    """Nodes and units in order, up to the ends; nodes whose outputs are all known are skipped.

    With `inside`, only its nodes are visited: the others have run. `units` are the TF1 branches and
    loops, by the nodes whose outputs leave them.
    """
    roots = [end for end in ends if inside is None or end in inside]
    yield from _walk(roots, units or {}, known, inside)


def is_ordered(ends: Iterable[Node], units: Mapping[Node, ControlUnit]) -> bool:
    """Whether an order exists in which the units can be visited."""
    try:
        for _ in _walk(ends, units, {}, None):
            pass
    except MalformedGraph:
        return False
    return True


def _walk(
    roots: Iterable[Node],
    units: Mapping[Node, ControlUnit],
    known: Mapping[Value, Operand],
    inside: Container[Node] | None,
) -> Iterator[Node | ControlUnit]:
    state: dict[Any, bool] = {}  # False while its inputs are being visited
    for root in roots:
        stack: list[tuple[Any, Iterator[Node]]] = []
        _enter(units.get(root, root), stack, state, known)
        while stack:
            unit, before = stack[-1]
            node = next(before, None)
            if node is None:
                stack.pop()
                state[unit] = True
                yield unit
            elif inside is None or node in inside:
                _enter(units.get(node, node), stack, state, known)


def _enter(
    unit: Any, stack: list[tuple[Any, Iterator[Node]]], state: dict[Any, bool], known: Mapping[Value, Operand]
) -> None:
    done = state.get(unit)
    if done is None:
        state[unit] = False
        stack.append((unit, iter(_needs(unit, known))))
    elif not done:
        name = unit.name if isinstance(unit, Node) else "a loop"
        raise MalformedGraph(f"the graph has a cycle: `{name}` depends on its own output")


def _needs(unit: Any, known: Mapping[Value, Operand]) -> list[Node]:
    needs = [value.node for value in unit.inputs if value not in known and value.node.op != "_Arg"]
    for node in unit.controls:
        if node.op != "_Arg" and not any(value in known for value in node.read_outputs):
            needs.append(node)
    return needs
