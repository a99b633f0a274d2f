"""Stateless calls, branches and loops as their stateful variants; `fix.structure` lowers them to TF1's."""

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.graph import Node

STATEFUL = {
    "StatelessIf": "If",
    "StatelessWhile": "While",
    "StatelessCase": "Case",
    "PartitionedCall": "StatefulPartitionedCall",
}


@rule(" ".join(STATEFUL), keeps=EXACT)
def as_stateful_twin(op: NodeBuilder, n: Node) -> Replacement:
    """The stateful variant runs the same functions; it differs only in that it is never folded or pruned."""
    return op.node(STATEFUL[n.op], *n.inputs, **n.attrs)


@rule("DisableCopyOnRead", keeps=EXACT)
def nothing(op: NodeBuilder, n: Node) -> Replacement:
    """DisableCopyOnRead affects only how a variable's memory is shared, so it becomes NoOp."""
    return op.NoOp()
