"""Stateless calls, branches and loops as their stateful variants, and the truth of a tensor.

`fix.structure` lowers them to the control flow of TF1.
"""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import rank
from tfport.graph.dtypes import BOOL, STRING
from tfport.graph.graph import Node
from tfport.graph.inline import NO_SEGMENT, engine_function

STATEFUL = {
    "StatelessIf": "If",
    "StatelessWhile": "While",
    "StatelessCase": "Case",
    "PartitionedCall": "StatefulPartitionedCall",
}


@rule(" ".join(STATEFUL), keeps=EXACT)
def as_stateful_twin(op: RuleBuilder, n: Node) -> Replacement:
    """The stateful variant runs the same functions; it differs only in that it is never folded or pruned."""
    return op.node(STATEFUL[n.op], *n.inputs, **n.attrs)


@rule("TRTEngineOp", keeps=ROUNDING)
def as_native_segment(op: RuleBuilder, n: Node) -> Replacement:
    """A TensorRT engine computes a function that the graph still has, so the function is called instead."""
    function = engine_function(n)
    if function is None:
        return refuse(NO_SEGMENT)
    types = {"Tin": n.attrs["InT"], "Tout": n.attrs["OutT"]}
    return op.node("StatefulPartitionedCall", *n.inputs, f=function, **types)


@rule("DisableCopyOnRead", keeps=EXACT)
def nothing(op: RuleBuilder, n: Node) -> Replacement:
    """DisableCopyOnRead affects only how a variable's memory is shared, so it becomes NoOp."""
    return op.NoOp()


@rule("ToBool", keeps=EXACT)
def not_zero_or_not_empty(op: RuleBuilder, n: Node) -> Replacement:
    """A scalar is true if it is not zero or empty; any other tensor is true if it has elements."""
    x = n.inputs[0]
    if rank(op, x, "tensor"):
        return op.Greater(op.Size(x), 0)
    if x.dtype.base == BOOL:
        return op.Identity(x)
    return op.NotEqual(x, op.const("" if x.dtype.base == STRING else 0, x.dtype.base))
