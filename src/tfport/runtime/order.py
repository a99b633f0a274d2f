"""The order in which nodes are visited: each after all that it reads or waits for.

What belongs to a TF1 branch or loop is visited as one `ControlUnit` structure, which
`control.raised` finds; the nodes inside it are its own business.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import MalformedGraph
from tfport.graph.graph import Node, Value

if TYPE_CHECKING:
    from tfport.runtime.operand import Operand


class ControlUnit(Protocol):
    """A TF1 branch or loop as one structure."""

    @property
    def inputs(self) -> Iterable[Value]:
        """What it reads from around it."""
        ...

    @property
    def controls(self) -> Iterable[Node]:
        """What it waits for around it."""
        ...

    def trace(self, tracer: Any, env: dict[Value, Operand], given: Mapping[str, Any]) -> None:
        """Make its step, and put what it answers into `env`."""
        ...


def reached(ends: Iterable[Node]) -> set[Node]:
    """All that these need, as far back as the graph goes."""
    found: set[Node] = set()
    stack = list(ends)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [value.node for value in node.inputs]
            stack += node.controls
    return found


def walk(
    ends: Iterable[Node],
    known: Mapping[Value, Operand],
    inside: Container[Node] | None = None,
    found: Mapping[Node, ControlUnit] | None = None,
) -> Iterator[Node | ControlUnit]:
    """Nodes and structures in order, up to the ends; a node whose every output is known is not visited.

    With `inside`, no other nodes are visited: what they answer is known, and they have run.
    `found` are the structures of TF1, by the nodes whose answers leave them.
    """
    roots = [end for end in ends if inside is None or end in inside]
    yield from _walk(roots, found or {}, known, inside)


def is_ordered(ends: Iterable[Node], found: Mapping[Node, ControlUnit]) -> bool:
    """Whether structures can be visited one after the other."""
    try:
        for _ in _walk(ends, found, {}, None):
            pass
    except MalformedGraph:
        return False
    return True


def _walk(
    roots: Iterable[Node],
    found: Mapping[Node, ControlUnit],
    known: Mapping[Value, Operand],
    inside: Container[Node] | None,
) -> Iterator[Node | ControlUnit]:
    state: dict[Any, bool] = {}  # False while what it needs is being visited
    for root in roots:
        stack: list[tuple[Any, Iterator[Node]]] = []
        _enter(found.get(root, root), stack, state, known)
        while stack:
            unit, before = stack[-1]
            node = next(before, None)
            if node is None:
                stack.pop()
                state[unit] = True
                yield unit
            elif inside is None or node in inside:
                _enter(found.get(node, node), stack, state, known)


def _enter(
    unit: Any, stack: list[tuple[Any, Iterator[Node]]], state: dict[Any, bool], known: Mapping[Value, Operand]
) -> None:
    done = state.get(unit)
    if done is None:
        state[unit] = False
        stack.append((unit, iter(list(_needs(unit, known)))))
    elif not done:
        name = unit.name if isinstance(unit, Node) else "a loop"
        raise MalformedGraph(f"the graph has no order: `{name}` needs its own result")


def _needs(unit: Any, known: Mapping[Value, Operand]) -> Iterator[Node]:
    for value in unit.inputs:
        if value not in known and value.node.op != "_Arg":
            yield value.node
    for node in unit.controls:
        if node.op != "_Arg" and not any(value in known for value in node.read_outputs):
            yield node
