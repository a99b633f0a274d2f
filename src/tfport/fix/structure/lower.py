"""Functional branches and loops as the nodes that TF1 has for them.

A node keeps its name and hands the results on; all that its functions call is put in
place too, the innermost included. What cannot be is refused before anything changes.
"""

from __future__ import annotations

from tfport.fix.structure.branches import lowered_case, lowered_if
from tfport.fix.structure.function_bodies import expand, forget_lost_places
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
    """If and StatelessIf as Switch and Merge."""
    _lower(node, IFS)


def lower_case(node: Node) -> None:
    """Case and StatelessCase as Switch and Merge."""
    _lower(node, CASES)


def lower_while(node: Node) -> None:
    """While and StatelessWhile as Enter, Merge, LoopCond, Switch, NextIteration and Exit."""
    _lower(node, WHILES)


def lower(node: Node) -> None:
    """Any of these."""
    _lower(node, FUNCTIONAL)


def lower_all(graph: Graph) -> int:
    """Every branch and loop of a graph; how many there were."""
    found = [node for node in graph if node.op in FUNCTIONAL]
    for node in found:
        can_be_lowered(node)
    for node in found:
        _expand(node)
    forget_lost_places(graph)
    return len(found)


def _lower(node: Node, ops: tuple[str, ...]) -> None:
    if node.op not in ops:
        raise StructureRefusal(f"`{node.name}` is {node.op or 'missing'}, not {ops[0]}")
    can_be_lowered(node)
    _expand(node)
    forget_lost_places(node.graph)


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
