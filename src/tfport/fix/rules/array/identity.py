"""Ops that return their input unchanged."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.graph import Node


@rule("Snapshot StopGradient PreventGradient DebugGradientIdentity GuaranteeConst", keeps=EXACT)
def as_identity(op: NodeBuilder, n: Node) -> Replacement:
    """Identity returns the same tensor; only gradients differ, which are not computed here."""
    return op.Identity(n.inputs[0])


@rule("EnsureShape", keeps=EXACT)
def without_looking_at_the_shape(op: NodeBuilder, n: Node) -> Replacement:
    """Identity returns the same tensor, but does not fail for a different shape."""
    return op.Identity(n.inputs[0])


@rule("IdentityN", keeps=EXACT)
def one_identity_each(op: NodeBuilder, n: Node) -> Replacement:
    """Each tensor gets its own Identity."""
    return [op.Identity(value) for value in n.inputs]
