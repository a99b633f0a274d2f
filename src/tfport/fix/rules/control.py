"""Calls, branches and loops under their twins' names; those without functions are made by `fix.structure`."""

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.graph import Node

TWINS = {
    "StatelessIf": "If",
    "StatelessWhile": "While",
    "StatelessCase": "Case",
    "PartitionedCall": "StatefulPartitionedCall",
}


@rule(" ".join(TWINS), keeps=EXACT)
def as_stateful_twin(op: NodeBuilder, n: Node) -> Replacement:
    """The stateful twin runs the same functions; it is only never folded or left out."""
    return op.node(TWINS[n.op], *n.inputs, **n.attrs)


@rule("DisableCopyOnRead", keeps=EXACT)
def nothing(op: NodeBuilder, n: Node) -> Replacement:
    """DisableCopyOnRead tells only how a variable's memory is shared, so nothing takes its place."""
    return op.NoOp()
