"""Broadcasting, tensors of ones and zeros, and ops that return their input unchanged."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.building.sizes import joined, shape_of
from tfport.graph.dtypes import BOOL, INT32, STRING, DType
from tfport.graph.graph import Node, Value

NOT_TILED = (DType.parse("int8"), DType.parse("uint16"))
"""Dtypes for which Tile of older releases is registered, but fails when it runs (1.4.1)."""


@rule("BroadcastTo", keeps=EXACT)
def tiled(op: RuleBuilder, n: Node) -> Replacement:
    """Tile repeats each axis whose size differs."""
    x, shape = n.inputs[0], op.cast(n.inputs[1], INT32)
    own, out = op.shape(x), op.shape(n.output(0))
    if own is not None and own == out and None not in own:
        return op.Identity(x)
    if own is not None and out is not None:
        fill = [1] * (len(out) - len(own))
        before = joined(op, fill, shape_of(op, x)) if fill else shape_of(op, x)
    else:
        more = op.Sub(op.Size(shape), op.Rank(x))
        before = joined(op, op.Fill(op.ExpandDims(more, 0), 1), op.Shape(x))
    padded = x if own is not None and out is not None and len(own) == len(out) else op.Reshape(x, before)
    times = op.Select(op.Equal(before, shape), op.OnesLike(shape), shape)
    dtype = x.dtype.base
    return op.cast(op.Tile(op.cast(padded, INT32 if dtype in NOT_TILED else dtype), times), dtype)


@rule("BroadcastTo", keeps=EXACT)
def or_false(op: RuleBuilder, n: Node) -> Replacement:
    """LogicalOr with a tensor of false broadcasts bools as BroadcastTo does."""
    if n.attrs["T"] != BOOL:
        return refuse(f"its elements are {n.attrs['T']}, not bool")
    return op.LogicalOr(n.inputs[0], op.Fill(op.cast(n.inputs[1], INT32), False))


@rule("BroadcastArgs", keeps=EXACT)
def common_shape(op: RuleBuilder, n: Node) -> Replacement:
    """Shapes are padded to the same rank; on each axis, the size that is not one is selected."""
    whole = op.Maximum(op.Size(n.inputs[0]), op.Size(n.inputs[1]))

    def padded(shape: Value) -> Node:
        padding = op.Fill(op.ExpandDims(op.Sub(whole, op.Size(shape)), 0), op.const(1, shape.dtype.base))
        return op.ConcatV2([padding, shape], 0)

    a, b = (padded(shape) for shape in n.inputs)
    return op.Select(op.Equal(a, 1), b, a)


@rule("OnesLike ZerosLike", keeps=EXACT)
def filled_alike(op: RuleBuilder, n: Node) -> Replacement:
    """Fill makes a tensor of ones or zeros of the same shape."""
    dtype = n.inputs[0].dtype.base
    element = op.const(int(n.op == "OnesLike"), dtype) if dtype != STRING else op.const("", STRING)
    return op.Fill(shape_of(op, n.inputs[0]), element)


@rule("Snapshot StopGradient PreventGradient DebugGradientIdentity GuaranteeConst", keeps=EXACT)
def as_identity(op: RuleBuilder, n: Node) -> Replacement:
    """Identity returns the same tensor; only gradients differ, which are not computed here."""
    return op.Identity(n.inputs[0])


@rule("EnsureShape", keeps=EXACT)
def without_looking_at_the_shape(op: RuleBuilder, n: Node) -> Replacement:
    """Identity returns the same tensor, but does not fail for a different shape."""
    return op.Identity(n.inputs[0])


@rule("IdentityN", keeps=EXACT)
def one_identity_each(op: RuleBuilder, n: Node) -> Replacement:
    """Each tensor gets its own Identity."""
    return [op.Identity(value) for value in n.inputs]
