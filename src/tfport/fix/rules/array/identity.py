"""Ops that hand on what they are given, and say something about it."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.graph import Node


@rule("Snapshot StopGradient PreventGradient DebugGradientIdentity GuaranteeConst", keeps=EXACT)
def as_identity(op: NodeBuilder, n: Node) -> Replacement:
    """Identity hands on the same tensor; only gradients, which are not asked for here, tell the two apart."""
    return op.Identity(n.inputs[0])


@rule("EnsureShape", keeps=EXACT)
def without_looking_at_the_shape(op: NodeBuilder, n: Node) -> Replacement:
    """Identity hands on the same tensor, and no longer fails for one of another shape."""
    return op.Identity(n.inputs[0])


@rule("IdentityN", keeps=EXACT)
def one_identity_each(op: NodeBuilder, n: Node) -> Replacement:
    """An Identity for each tensor."""
    return [op.Identity(value) for value in n.inputs]
