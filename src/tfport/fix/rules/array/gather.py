"""Gathering and scattering slices and elements by index, and in-place changes of rows."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.building.sizes import (
    count_to,
    item,
    joined,
    number,
    part,
    product,
    rank,
    scalar,
    shape_of,
    size_at,
)
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value


@rule("GatherV2", keeps=EXACT)
def along_the_first_axis(op: RuleBuilder, n: Node) -> Replacement:
    """Gather takes slices along the first axis."""
    if batch := n.attrs["batch_dims"]:
        return refuse(f"it has batch_dims={batch}")
    if axis := _axis(op, n):
        return refuse(f"its axis is {axis}; Gather supports axis 0 only")
    return op.Gather(n.inputs[0], n.inputs[1], validate_indices=True)


@rule("Gather", keeps=EXACT)
def as_gather_v2(op: RuleBuilder, n: Node) -> Replacement:
    """GatherV2 with axis 0 takes the same slices as Gather."""
    return op.GatherV2(n.inputs[0], n.inputs[1], 0)


@rule("GatherV2", keeps=EXACT)
def with_the_axis_first(op: RuleBuilder, n: Node) -> Replacement:
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
def batches_in_one(op: RuleBuilder, n: Node) -> Replacement:
    """All batches are flattened to one axis, and the indices of each batch get its offset."""
    params, indices = n.inputs[:2]
    if not (batch := int(n.attrs["batch_dims"])):
        return OtherProblem("it has no batch axes")
    if batch < 0:
        batch += rank(op, indices, "indices")
    axis = _axis(op, n)
    if axis < batch:
        return refuse(f"its axis {axis} is a batch axis (batch_dims={batch})")
    whole, wanted = shape_of(op, params), shape_of(op, indices)
    # [batch, between, count, slice] becomes [batch * between * count, slice]
    count, inner = part(op, whole, axis, axis + 1), part(op, whole, axis + 1)
    outer, between, asked = part(op, whole, stop=axis), part(op, whole, batch, axis), part(op, wanted, batch)
    dtype = indices.dtype.base
    runs = op.Mul(count_to(op, scalar(op, product(op, outer)), dtype), op.cast(item(op, whole, axis), dtype))
    starts = op.Reshape(runs, joined(op, product(op, part(op, whole, stop=batch)), product(op, between), [1]))
    own = op.Reshape(indices, joined(op, product(op, part(op, wanted, stop=batch)), [1], product(op, asked)))
    rows = joined(op, product(op, joined(op, outer, count)), inner)
    taken = op.GatherV2(op.Reshape(params, rows), op.Add(own, starts), 0)
    return op.Reshape(taken, joined(op, outer, asked, inner))


def _axis(op: RuleBuilder, n: Node) -> int:
    axis = number(op, n.inputs[2], "axis")
    return axis if axis >= 0 else axis + rank(op, n.inputs[0], "params")


@rule("ResourceGather", keeps=EXACT)
def gathered_from_what_is_read(op: RuleBuilder, n: Node) -> Replacement:
    """The variable is read with ReadVariableOp, and its slices are gathered."""
    resource, indices = n.inputs
    batch = n.attrs["batch_dims"]
    if isinstance(batch, int) and batch < 0:
        return refuse(f"the meaning of batch_dims={batch} is unknown")
    return op.GatherV2(_read(op, n, resource), indices, op.const(batch), batch_dims=batch)


@rule("ResourceGatherNd", keeps=EXACT)
def gathered_nd_from_what_is_read(op: RuleBuilder, n: Node) -> Replacement:
    """The variable is read with ReadVariableOp, and its elements are gathered."""
    return op.GatherNd(_read(op, n, n.inputs[0]), n.inputs[1])


def _read(op: RuleBuilder, n: Node, resource: Value) -> Node:
    return op.ReadVariableOp(resource, dtype=n.attrs["dtype"])


# Scattering.


@rule("ResourceScatterNdUpdate", keeps=EXACT)
def assigned_with_updates(op: RuleBuilder, n: Node) -> Replacement:
    """The variable is read, TensorScatterUpdate writes the slices, and the result is assigned."""
    resource, indices, updates = n.inputs
    dtype = n.attrs["T"]
    before = op.ReadVariableOp(resource, dtype=dtype)
    after = op.TensorScatterUpdate(before, indices, updates)
    return op.AssignVariableOp(resource, after, dtype=dtype)


COMBINE = {"TensorScatterAdd": "Add", "TensorScatterSub": "Sub"}


@rule("TensorScatterUpdate", keeps=EXACT)
def stitched(op: RuleBuilder, n: Node) -> Replacement:
    """DynamicStitch writes all slices of the tensor, then the updates; the last one written stays."""
    _wants_good_indices(n)
    tensor, indices, updates = n.inputs
    rows = ScatteredRows(op, tensor, indices)
    numbers = [count_to(op, rows.count), rows.numbers]
    slices = op.DynamicStitch(numbers, [rows.of_tensor, op.Reshape(updates, rows.widths)])
    return op.Reshape(slices, rows.shape)


@rule("TensorScatterAdd TensorScatterSub", keeps=EXACT)
def with_all_updates_of_integers(op: RuleBuilder, n: Node) -> Replacement:
    """ScatterNd sums the updates of each slice; the order does not matter for integers."""
    if not n.inputs[0].dtype.is_integer:
        return refuse(f"the order of adding {n.inputs[0].dtype} updates matters")
    return _with_all_updates(op, n)


@rule("TensorScatterAdd TensorScatterSub", keeps=ROUNDING)
def with_all_updates(op: RuleBuilder, n: Node) -> Replacement:
    """ScatterNd sums the updates of each slice, before they are added to the tensor."""
    return _with_all_updates(op, n)


def _with_all_updates(op: RuleBuilder, n: Node) -> Node:
    _wants_good_indices(n)
    tensor, indices, updates = n.inputs
    shape = op.cast(shape_of(op, tensor), indices.dtype.base)
    return op.node(COMBINE[n.op], tensor, op.ScatterNd(indices, updates, shape))


@rule("TensorScatterMax TensorScatterMin", keeps=EXACT)
def largest_of_a_segment(op: RuleBuilder, n: Node) -> Replacement:
    """A slice and its updates form a segment, whose maximum or minimum is the result."""
    _wants_good_indices(n)
    tensor, indices, updates = n.inputs
    rows = ScatteredRows(op, tensor, indices)
    data = op.ConcatV2([rows.of_tensor, op.Reshape(updates, rows.widths)], 0)
    segments = op.ConcatV2([count_to(op, rows.count), rows.numbers], 0)
    reduction = "UnsortedSegmentMax" if n.op == "TensorScatterMax" else "UnsortedSegmentMin"
    best = op.node(reduction, data, segments, rows.count)
    if tensor.dtype.is_floating:
        # the segment op starts from the lowest finite number, and would lose infinities
        end = float("-inf") if n.op == "TensorScatterMax" else float("inf")
        inside = op.Cast(op.NotEqual(data, end), DstT=INT32)
        any_inside = op.UnsortedSegmentMax(inside, segments, rows.count)
        best = op.Select(
            op.Greater(any_inside, 0), best, op.Fill(op.Shape(best), op.const(end, tensor.dtype.base))
        )
    return op.Reshape(best, rows.shape)


def _wants_good_indices(n: Node) -> None:
    if policy := n.attrs.get("bad_indices_policy"):
        raise refuse(f"it has bad_indices_policy={policy}")


class ScatteredRows:
    """A tensor as rows, one for each slice that an index selects, and the row of each update."""

    def __init__(self, op: RuleBuilder, tensor: Value, indices: Value) -> None:
        self.shape = shape_of(op, tensor)
        depth = _depth(op, indices)
        outer = op.StridedSlice(self.shape, [0], depth, [1], begin_mask=1)
        count, width = (
            product(op, outer),
            product(op, op.StridedSlice(self.shape, depth, [0], [1], end_mask=1)),
        )
        strides = op.Cumprod(outer, 0, exclusive=True, reverse=True)
        own = op.Sum(op.Mul(op.cast(indices, INT32), strides), op.const([-1]), keep_dims=False)
        self.numbers = op.Reshape(own, op.const([-1])).output(0)
        self.count = scalar(op, count)
        self.of_tensor = op.Reshape(tensor, joined(op, count, width))
        self.widths = joined(op, op.Shape(self.numbers), width)


def _depth(op: RuleBuilder, indices: Value) -> Value:
    """The number of axes that an index selects, as a vector of length 1."""
    known = op.shape(indices)
    if known and (depth := known[-1]) is not None:
        return op.const([depth], INT32)
    return part(op, op.Shape(indices), -1)


# In-place changes of rows, and the tensors that are created for them.


@rule("InplaceUpdate", keeps=EXACT)
def rows_stitched(op: RuleBuilder, n: Node) -> Replacement:
    """DynamicStitch writes the rows of the tensor, then the new rows; the last one written stays."""
    x, rows, values = _alone(op, n)
    return op.DynamicStitch([count_to(op, size_at(op, x, 0)), rows], [x, values])


@rule("InplaceAdd InplaceSub", keeps=EXACT)
def rows_combined(op: RuleBuilder, n: Node) -> Replacement:
    """The update is added to, or subtracted from, one gathered row, which is written back."""
    x, rows, values = _alone(op, n)
    if (count := op.shape(rows)) is None or count not in ((), (0,), (1,)):
        return refuse("it may update the same row several times")
    old = op.Gather(x, rows)
    new = op.Add(old, values) if n.op.endswith("Add") else op.Sub(old, values)
    return op.DynamicStitch([count_to(op, size_at(op, x, 0)), rows], [x, new])


def _alone(op: RuleBuilder, n: Node) -> tuple[Value, Value, Value]:
    x, rows, values = n.inputs
    if len(x.uses) > 1:
        raise refuse(f"`{x}` has other readers, which may see the change")
    return x, op.cast(rows, INT32), values


@rule("Empty", keeps=EXACT)
def filled(op: RuleBuilder, n: Node) -> Replacement:
    """The elements of Empty are undefined, so zeros are valid."""
    return op.Fill(n.inputs[0], op.const(0, n.outputs[0].dtype.base))


@rule("DeepCopy", keeps=EXACT)
def handed_on(op: RuleBuilder, n: Node) -> Replacement:
    """A copy that is not changed in place can be an Identity."""
    if any(user.op.startswith("Inplace") and op.has(user.op) for user in n.outputs[0].uses):
        return refuse("a reader changes the copy in place")
    return op.Identity(n.inputs[0])


@rule("AccumulateNV2", keeps=ROUNDING)
def added_at_once(op: RuleBuilder, n: Node) -> Replacement:
    """AddN adds the same tensors, in a different order."""
    return op.AddN(list(n.inputs))
