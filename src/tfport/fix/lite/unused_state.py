"""Operators that keep a state which no output depends on, for interpreters without variables.

A layer that was made for training may leave a counter in the file: a variable that is read, increased and
written, and whose value reaches no output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.formats.lite.records import LiteFile, LiteOperator, Subgraph
from tfport.startup.dataclass import replace

HANDLE, READ, ASSIGN, ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
STATE = frozenset({HANDLE, READ, ASSIGN, ONCE})
CALLS = frozenset({"IF", "WHILE", "STABLEHLO_COMPOSITE", "STABLEHLO_REDUCE", "STABLEHLO_REDUCE_WINDOW"})


def without_unused_state(file: LiteFile) -> list[tuple[Subgraph, LiteOperator]]:
    """Remove the operators of variables that no output depends on; returns what was removed.

    All variables must be such ones: a variable that is needed stays, and so does every other.
    """
    removed: list[tuple[Subgraph, LiteOperator]] = []
    for graph in file.subgraphs:
        needed = _needed(graph)
        if any(node.code.op == READ and id(node) in needed for node in graph.operators):
            return []
        removed += [(graph, node) for node in graph.operators if id(node) not in needed]
    starts = {node.options.get("init_subgraph_index", 0) for _, node in removed if node.code.op == ONCE}
    if any(node.code.op not in STATE for at in starts for node in file.subgraphs[at].operators):
        return []
    if not any(node.code.op == ASSIGN for _, node in removed):
        return []
    gone = {id(node) for _, node in removed}
    for graph in file.subgraphs:
        graph.operators = [node for node in graph.operators if id(node) not in gone]
    _blank(removed)
    return removed


def _needed(graph: Subgraph) -> set[int]:
    """The ids of the operators that outputs or effects other than those on variables depend on."""
    makers = {index: node for node in graph.operators for index in node.outputs}
    start = [node for node in graph.operators if not node.outputs and node.code.op not in STATE]
    pending = [*start, *(node for node in graph.operators if node.code.op in CALLS)]
    pending += [makers[index] for index in graph.outputs if index in makers]
    needed: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) not in needed:
            needed.add(id(node))
            pending += _makers(node.inputs, makers)
    return needed


def _makers(indices: Iterable[int], makers: dict[int, LiteOperator]) -> Iterator[LiteOperator]:
    return (makers[index] for index in indices if index in makers)


def _blank(removed: Iterable[tuple[Subgraph, LiteOperator]]) -> None:
    """Make the results of removed operators empty: old interpreters do not know the type of a handle."""
    for graph, node in removed:
        for index in node.outputs:
            graph.tensors[index] = replace(
                graph.tensors[index], type="FLOAT32", shape=(0,), shape_signature=(), quantization=None
            )
