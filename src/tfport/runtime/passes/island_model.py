"""From the nodes of an island to the ONNX model that an engine gets: the last passes, and those of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.onnx.builder import OPSET
from tfport.runtime.onnx.model import OnnxModel, nodes_of, onnx_model
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import ISLAND, WRITTEN, NodeForms, PassTarget
from tfport.runtime.program import OnnxNode, Program, Step


def simplified(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> Sequence[OnnxNode]:
    """The nodes of a graph after the passes that every graph gets, whoever computes it."""
    graph = IslandGraph(nodes, outputs)
    graph.run(ISLAND, is_body=True)
    return graph.nodes


def island_model(
    nodes: Sequence[OnnxNode],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    *,
    names: dict[Operand, str] | None = None,
    exported: bool = False,
    forms: NodeForms | None = None,
    keeps_bfloat16: bool = False,
    opset: int = OPSET,
) -> OnnxModel:
    """A model of these nodes; `names` are the public names of its inputs and outputs.

    An exported model has output shapes, keeps bfloat16 inputs and outputs, and has plain nodes. Others have
    those that are fastest in ONNX Runtime on a CPU, unless `forms` says otherwise, and keep bfloat16 if asked
    to. CannotRun says what another `opset` cannot say.
    """
    forms = forms or (NodeForms.PLAIN if exported else NodeForms.FASTEST)
    graph = IslandGraph(nodes, outputs, PassTarget(nodes=forms))
    _finish(graph)
    return onnx_model(
        _at(graph.nodes, opset) if exported else graph.nodes,
        inputs,
        outputs,
        names=names,
        exported=exported,
        plain=forms is NodeForms.PLAIN,
        keeps_bfloat16=keeps_bfloat16,
        same=graph.same,
        version=opset,
    )


def _finish(graph: IslandGraph) -> None:
    """Run the last passes in a graph, then all passes in the branches and bodies of its nodes."""
    graph.run(WRITTEN)
    for node in graph.nodes:
        if node.programs:
            attrs = {name: _finished(value, graph) for name, value in node.attrs.items()}
            graph.replace(node, OnnxNode(node.op, node.inputs, node.outputs, attrs, node.domain))


def _finished(attribute: Any, around: IslandGraph) -> Any:
    """An attribute; of a branch or body, the program that is left of it."""
    if not isinstance(attribute, Program):
        return attribute
    graph = IslandGraph(nodes_of(attribute), attribute.results, around.target)
    graph.same = around.same
    graph.run(ISLAND, is_body=True)
    _finish(graph)
    return Program(attribute.args, [Step("", "", (), (), list(graph.nodes))], attribute.results)


def _at(nodes: Sequence[OnnxNode], opset: int) -> Sequence[OnnxNode]:
    from tfport.runtime.onnx.opset import nodes_at  # only exported files need it

    return nodes_at(nodes, opset)
