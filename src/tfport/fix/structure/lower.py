"""Lower functional branches and loops to the control flow nodes of TF1.

A node keeps its name and returns the results. Everything that its functions call is inlined
too. A node that cannot be lowered is refused before anything changes.
"""

from __future__ import annotations

from tfport.fix.structure.branches import lowered_case, lowered_if
from tfport.fix.structure.function_bodies import drop_lost_colocations, expand
from tfport.fix.structure.functional_ops import (
    CASES,
    FUNCTIONAL,
    IFS,
    WHILES,
    StructureRefusal,
    can_be_lowered,
)
from tfport.fix.structure.loops import lowered_while
from tfport.graph.graph import Graph, Node

_LOWERED = {
    **dict.fromkeys(IFS, lowered_if),
    **dict.fromkeys(CASES, lowered_case),
    **dict.fromkeys(WHILES, lowered_while),
}


def lower_if(node: Node) -> None:
    """Lower If and StatelessIf to Switch and Merge."""
    _lower(node, IFS)


def lower_case(node: Node) -> None:
    """Lower Case and StatelessCase to Switch and Merge."""
    _lower(node, CASES)


def lower_while(node: Node) -> None:
    """Lower While and StatelessWhile to Enter, Merge, LoopCond, Switch, NextIteration and Exit."""
    _lower(node, WHILES)


def lower(node: Node) -> None:
    """Lower a branch or a loop."""
    _lower(node, FUNCTIONAL)


def lower_all(graph: Graph) -> int:
    """Lower every branch and loop of a graph; returns their number."""
    functional = [node for node in graph if node.op in FUNCTIONAL]
    for node in functional:
        can_be_lowered(node)
    for node in functional:
        _expand(node)
    drop_lost_colocations(graph)
    return len(functional)


def _lower(node: Node, ops: tuple[str, ...]) -> None:
    if node.op not in ops:
        raise StructureRefusal(f"`{node.name}` is {node.op or 'missing'}, not {ops[0]}")
    can_be_lowered(node)
    _expand(node)
    drop_lost_colocations(node.graph)


def _expand(node: Node) -> None:
    waiting = list(_LOWERED[node.op](node, None))
    while waiting:
        inner, pivot = waiting.pop()
        if inner.op in _LOWERED:
            waiting += _LOWERED[inner.op](inner, pivot)
        else:
            expand(inner, pivot, waiting)
        if not inner.users:
            inner.graph.remove(inner)
