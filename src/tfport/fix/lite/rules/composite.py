"""A composite op: a name for what another subgraph computes."""

from __future__ import annotations

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT
from tfport.formats.lite.records import LiteOperator
from tfport.graph.building.node_builder import Refusal


@lite_rule("STABLEHLO_COMPOSITE", keeps=EXACT)
def composite_by_its_parts(e: SubgraphEditor, n: LiteOperator) -> None:
    """The operators of its subgraph compute what a composite op does."""
    number = e.option(n, "decomposition_subgraph_index")
    if number is None or not 0 <= number < len(e.file.subgraphs) or e.file.subgraphs[number] is e.graph:
        raise Refusal(f"the file has no subgraph {number} for it")
    graph = e.file.subgraphs[number]
    if len(graph.inputs) != len(n.inputs) or len(graph.outputs) != len(n.outputs):
        raise Refusal(f"subgraph {number} has other inputs or outputs")
    if len(set(graph.inputs)) < len(graph.inputs):
        raise Refusal(f"subgraph {number} has an input twice")
    e.inline(number, n.inputs, n.outputs)
