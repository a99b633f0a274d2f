"""Inline function calls until none is left."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.errors import MalformedGraph
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.inline import callee, inline
from tfport.graph.reach import called_by, needed_by

DEEPEST = 100
MOST_NODES = 2_000_000


def inline_calls(graph: Graph, ends: Iterable[Node]) -> list[tuple[str, str]]:
    """Inline the calls that these nodes need, also in functions of branches and loops; returns the calls."""
    last = list(ends)
    done = _inline_in(graph, last)
    for function in list(called_by(needed_by(last)).values()):
        done += _inline_in(function, function.ends)
    return done


def _inline_in(graph: Graph, ends: list[Node]) -> list[tuple[str, str]]:
    done: list[tuple[str, str]] = []
    for _ in range(DEEPEST):
        calls = [node for node in needed_by(ends) if node.op and callee(node) is not None]
        if not calls:
            return done
        for call in calls:
            done.append((call.name, call.op))
            try:
                inline(call)
            except MalformedGraph as error:
                raise StructureRefusal(str(error)) from None
        if len(graph) > MOST_NODES:
            break
    where = f"function {graph.name}" if isinstance(graph, Function) else "the graph"
    raise StructureRefusal(
        f"calls in {where} cannot be inlined: a function is recursive, or there are too many calls"
    )
