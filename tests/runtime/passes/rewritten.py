"""What one pass makes of some nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import PassTarget
from tfport.runtime.program import OnnxNode

Run = Callable[[IslandGraph], None]


def rewritten(
    run: Run, nodes: Sequence[OnnxNode], outputs: Sequence[Operand] = (), **target: Any
) -> list[OnnxNode]:
    """The nodes after a pass; if there are outputs, those that these depend on."""
    graph = IslandGraph(nodes, outputs, PassTarget(**target))
    run(graph)
    if outputs:
        graph.remove_unused()
    return list(graph.nodes)


def flagged(run: Run, nodes: Sequence[OnnxNode]) -> tuple[list[OnnxNode], Operand | None]:
    """The nodes after a pass that adds a flag, and the flag."""
    graph = IslandGraph(nodes, ())
    run(graph)
    return list(graph.nodes), graph.flag
