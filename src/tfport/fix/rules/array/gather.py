"""Gathering slices and elements by index."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import cast, count_to, item, joined, number, part, product, rank, scalar, sizes
from tfport.fix.rule import EXACT, OtherProblem, Replacement, refuse, rule
from tfport.graph.graph import Node, Value


@rule("GatherV2", keeps=EXACT)
def along_the_first_axis(op: NodeBuilder, n: Node) -> Replacement:
    """Gather takes slices along the first axis."""
    if batch := n.attrs["batch_dims"]:
        return refuse(f"it has batch_dims={batch}")
    if axis := _axis(op, n):
        return refuse(f"its axis is {axis}; Gather supports axis 0 only")
    return op.Gather(n.inputs[0], n.inputs[1], validate_indices=True)


@rule("Gather", keeps=EXACT)
def as_gather_v2(op: NodeBuilder, n: Node) -> Replacement:
    """GatherV2 with axis 0 takes the same slices as Gather."""
    return op.GatherV2(n.inputs[0], n.inputs[1], 0)


@rule("GatherV2", keeps=EXACT)
def with_the_axis_first(op: NodeBuilder, n: Node) -> Replacement:
    """The axis is transposed to the front, slices are gathered there, and the result is transposed back."""
    if batch := n.attrs["batch_dims"]:
        return refuse(f"it has batch_dims={batch}")
    axis, last = _axis(op, n), rank(op, n.inputs[0], "params")
    new = rank(op, n.inputs[1], "indices")
    front = [axis, *(i for i in range(last) if i != axis)]
    back = [*range(new, new + axis), *range(new), *range(new + axis, new + last - 1)]
    taken = op.Gather(op.Transpose(n.inputs[0], front), n.inputs[1], validate_indices=True)
    return op.Transpose(taken, back)


@rule("GatherV2", keeps=EXACT)
def batches_in_one(op: NodeBuilder, n: Node) -> Replacement:
    """All batches are flattened to one axis, and the indices of each batch get its offset."""
    params, indices = n.inputs[:2]
    if not (batch := int(n.attrs["batch_dims"])):
        return OtherProblem("it has no batch axes")
    if batch < 0:
        batch += rank(op, indices, "indices")
    axis = _axis(op, n)
    if axis < batch:
        return refuse(f"its axis {axis} is a batch axis (batch_dims={batch})")
    whole, wanted = sizes(op, params), sizes(op, indices)
    # [batch, between, count, slice] becomes [batch * between * count, slice]
    count, inner = part(op, whole, axis, axis + 1), part(op, whole, axis + 1)
    outer, between, asked = part(op, whole, stop=axis), part(op, whole, batch, axis), part(op, wanted, batch)
    kind = indices.dtype.base
    runs = op.Mul(count_to(op, scalar(op, product(op, outer)), kind), cast(op, item(op, whole, axis), kind))
    starts = op.Reshape(runs, joined(op, product(op, part(op, whole, stop=batch)), product(op, between), [1]))
    own = op.Reshape(indices, joined(op, product(op, part(op, wanted, stop=batch)), [1], product(op, asked)))
    rows = joined(op, product(op, joined(op, outer, count)), inner)
    taken = op.GatherV2(op.Reshape(params, rows), op.Add(own, starts), 0)
    return op.Reshape(taken, joined(op, outer, asked, inner))


def _axis(op: NodeBuilder, n: Node) -> int:
    axis = number(op, n.inputs[2], "axis")
    return axis if axis >= 0 else axis + rank(op, n.inputs[0], "params")


@rule("ResourceGather", keeps=EXACT)
def gathered_from_what_is_read(op: NodeBuilder, n: Node) -> Replacement:
    """The variable is read with ReadVariableOp, and its slices are gathered."""
    resource, indices = n.inputs
    batch = n.attrs["batch_dims"]
    if isinstance(batch, int) and batch < 0:
        return refuse(f"the meaning of batch_dims={batch} is unknown")
    return op.GatherV2(_read(op, n, resource), indices, op.const(batch), batch_dims=batch)


@rule("ResourceGatherNd", keeps=EXACT)
def gathered_nd_from_what_is_read(op: NodeBuilder, n: Node) -> Replacement:
    """The variable is read with ReadVariableOp, and its elements are gathered."""
    return op.GatherNd(_read(op, n, n.inputs[0]), n.inputs[1])


def _read(op: NodeBuilder, n: Node, resource: Value) -> Node:
    return op.ReadVariableOp(resource, dtype=n.attrs["dtype"])
