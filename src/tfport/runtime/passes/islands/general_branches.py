"""No branches that only save time: a GPU waits for the condition, and a CUDA graph has no branches."""

from __future__ import annotations

from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import GPU, island_pass
from tfport.runtime.program import OnnxNode


@island_pass(when=GPU)
def general_branches(graph: IslandGraph) -> None:
    """A branch that only saves time is replaced by what is right on both sides of it."""
    for node in list(graph.nodes):
        if node.general is not None:
            graph.replace(node, *_inlined(node))


def _inlined(branch: OnnxNode) -> list[OnnxNode]:
    """The nodes of the general program, the result of which is now that of the branch."""
    assert branch.general is not None
    (result,), (output,) = branch.general.results, branch.outputs
    nodes = list(nodes_of(branch.general))
    (last,) = (node for node in nodes if result in node.outputs)
    outputs = tuple(output if operand is result else operand for operand in last.outputs)
    renamed = OnnxNode(last.op, last.inputs, outputs, last.attrs, last.domain, last.means)
    return [renamed if node is last else node for node in nodes]
