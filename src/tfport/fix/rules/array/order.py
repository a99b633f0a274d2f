"""Reordering, concatenation, padding, sorting, unique elements, and selection by a condition."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, OtherProblem, Replacement, refuse, rule
from tfport.graph.building.sizes import count_to, covers, item, numbers, rank, shape_of
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Node, Value


@rule("Roll", keeps=EXACT)
def gathered_from_behind(op: RuleBuilder, n: Node) -> Replacement:
    """Along each rolled axis, slices are gathered from shifted indices, modulo the size."""
    x, shift, axis = n.inputs
    axes, dims = numbers(op, axis, "axis"), op.shape(shift)
    if dims not in ((), (len(axes),)):
        return refuse("the number of shifts is unknown")
    shift = op.cast(shift, INT32)
    for index, at in enumerate(axes):
        by = item(op, shift, index) if dims else shift
        size = _size(op, x, at)
        # a size of zero must not be a divisor, even without elements
        wanted = op.FloorMod(op.Sub(count_to(op, size), by), op.Maximum(size, 1))
        x = op.tensor(op.GatherV2(x, wanted, op.const(at)), op.shape(n.inputs[0]))
    return x if axes else op.Identity(x)


def _size(op: RuleBuilder, x: Value, axis: int) -> Value:
    known = op.shape(x)
    if known is not None and (size := known[axis]) is not None:
        return op.const(size, INT32)
    return item(op, op.Shape(x), axis)


@rule("ReverseV2", keeps=EXACT)
def axes_as_flags(op: RuleBuilder, n: Node) -> Replacement:
    """Reverse takes a bool for each axis instead of a list of axes."""
    x, axes = n.inputs
    last = rank(op, x, "tensor")
    transposed = {axis % last for axis in numbers(op, axes, "axis")} if last else set()
    return op.Reverse(x, op.const([axis in transposed for axis in range(last)], BOOL))


@rule("Reverse", keeps=EXACT)
def flags_as_axes(op: RuleBuilder, n: Node) -> Replacement:
    """ReverseV2 takes a list of axes instead of a bool for each."""
    axes = [axis for axis, transposed in enumerate(numbers(op, n.inputs[1], "dims")) if transposed]
    return op.ReverseV2(n.inputs[0], op.const(axes, INT32))


@rule("ConjugateTranspose", keeps=EXACT)
def transposed_then_conjugated(op: RuleBuilder, n: Node) -> Replacement:
    """Transpose followed by Conj for complex numbers."""
    transposed = op.Transpose(*n.inputs)
    return op.Conj(transposed) if n.inputs[0].dtype.is_complex else transposed


@rule("ConcatV2", keeps=EXACT)
def axis_first(op: RuleBuilder, n: Node) -> Replacement:
    """Concat takes the axis as its first input, and no negative axis."""
    *parts, axis = n.inputs
    at = op.array(axis)
    if at is None:
        return refuse("its axis is not constant")
    front = int(at) if at >= 0 else int(at) + rank(op, parts[0], "tensors")
    return op.Concat(op.const(front, INT32), parts)


@rule("Concat", keeps=EXACT)
def axis_last(op: RuleBuilder, n: Node) -> Replacement:
    """ConcatV2 takes the axis as its last input."""
    axis, *parts = n.inputs
    return op.ConcatV2(parts, axis)


@rule("PadV2", keeps=EXACT)
def padded_with_zeros(op: RuleBuilder, n: Node) -> Replacement:
    """Padding with zeros is Pad."""
    x, paddings, value = n.inputs
    known = op.array(value)
    if known is None or known.tobytes().strip(b"\0"):
        return refuse("it is not known to pad with zeros")
    return op.Pad(x, paddings)


@rule("PadV2", keeps=EXACT)
def chosen_where_padded(op: RuleBuilder, n: Node) -> Replacement:
    """Pad pads with zeros; then the value is selected at the padded positions, which a padded mask marks."""
    x, paddings, value = n.inputs
    inner = op.Pad(op.Fill(op.Shape(x), True), paddings)
    padded = op.Pad(x, paddings)
    return op.Select(inner, padded, op.Fill(op.Shape(padded), value))


@rule("Pad", keeps=EXACT)
def padded_with_a_value(op: RuleBuilder, n: Node) -> Replacement:
    """PadV2 with the value zero."""
    return op.PadV2(*n.inputs, op.const(0, n.inputs[0].dtype.base))


@rule("UnravelIndex", keeps=EXACT)
def by_division(op: RuleBuilder, n: Node) -> Replacement:
    """Each coordinate is the index divided by the stride of its axis, modulo the size."""
    indices, dims = n.inputs
    at = rank(op, indices, "indices")
    strides = op.Cumprod(dims, 0, exclusive=True, reverse=True)
    column = op.const([-1] + [1] * at, INT32)
    counts = op.FloorDiv(indices, op.Reshape(strides, column))
    return op.FloorMod(counts, op.Reshape(dims, column))


@rule("UniqueV2 UniqueWithCountsV2", keeps=EXACT)
def of_a_vector(op: RuleBuilder, n: Node) -> Replacement:
    """For a vector, Unique finds the same elements."""
    x, axis = n.inputs
    if rank(op, x, "tensor") != 1:
        return refuse("its input is not a vector")
    if (dims := op.shape(axis)) is None or None in dims:
        return refuse("the shape of its axis is unknown")
    return op.node(n.op.removesuffix("V2"), x, out_idx=n.attrs["out_idx"])


@rule("Unique UniqueWithCounts", keeps=EXACT)
def of_the_first_axis(op: RuleBuilder, n: Node) -> Replacement:
    """The newer op along axis 0 finds the unique elements of a vector."""
    return op.node(f"{n.op}V2", n.inputs[0], op.const([0], INT32), out_idx=n.attrs["out_idx"])


@rule("TopK", keeps=EXACT)
def as_top_k_v2(op: RuleBuilder, n: Node) -> Replacement:
    """TopKV2 takes k as an input."""
    return op.TopKV2(n.inputs[0], op.const(n.attrs["k"], INT32), sorted=n.attrs["sorted"])


@rule("ApproxTopK", keeps=EXACT)
def exact_top_k(op: RuleBuilder, n: Node) -> Replacement:
    """TopKV2 finds exactly the largest elements, or the smallest by negation, as the op does on a CPU."""
    x, last = n.inputs[0], rank(op, n.inputs[0], "tensor") - 1
    if not n.attrs["aggregate_to_topk"]:
        return refuse("without aggregate_to_topk it may return more than k elements")
    axis = int(n.attrs["reduction_dimension"]) % (last + 1)
    swapped = [*range(axis), last, *range(axis + 1, last), axis] if axis != last else []
    moved = op.Transpose(x, op.const(swapped, INT32)) if swapped else x
    is_max = n.attrs["is_max_k"]
    top = op.TopKV2(moved if is_max else op.Neg(moved), op.const(n.attrs["k"], INT32), sorted=True)
    results = [top.output(0) if is_max else op.Neg(top.output(0)).output(0), top.output(1)]
    return [op.Transpose(result, op.const(swapped, INT32)) for result in results] if swapped else results


@rule("NthElement", keeps=EXACT)
def last_of_the_top(op: RuleBuilder, n: Node) -> Replacement:
    """The n-th element is the last of the n + 1 largest, or of the n + 1 smallest by negation."""
    x, index = n.inputs
    if not n.attrs["reverse"] and not x.dtype.is_floating:
        return refuse(f"the lowest {x.dtype} cannot be negated")
    descending = x if n.attrs["reverse"] else op.Neg(x)
    top = op.TopKV2(descending, op.Add(index, 1), sorted=True).output(0)
    last = op.StridedSlice(top, [0, -1], [0, 0], [1, 1], ellipsis_mask=1, end_mask=2, shrink_axis_mask=2)
    return last if n.attrs["reverse"] else op.Neg(last)


# Selection by a condition, and indices of true elements.


@rule("SelectV2", keeps=EXACT)
def all_of_one_shape(op: RuleBuilder, n: Node) -> Replacement:
    """Select needs equal shapes or a scalar condition, so the inputs are broadcast first."""
    condition, yes, no = n.inputs
    shapes = [op.shape(value) for value in n.inputs]
    if shapes[0] == () and _same(op, yes, no):
        return op.Select(condition, yes, no)
    whole = next((v for v in n.inputs if all(covers(op.shape(v), other) for other in shapes)), None)
    shape = (
        shape_of(op, whole if whole is not None else n.output(0))
        if _is_shape_available(op, n, whole)
        else None
    )
    if shape is None:
        parts = [shape_of(op, value) for value in n.inputs]
        shape = op.BroadcastArgs(op.BroadcastArgs(parts[0], parts[1]), parts[2]).output(0)
    out = op.shape(n.output(0))

    def spread(value: Value) -> Value:
        if all(covers(op.shape(value), other) for other in shapes):
            return value
        wide = op.BroadcastTo(value, shape)
        return op.tensor(wide, op.shape(n.output(0))) if out is not None else wide.output(0)

    return op.Select(*[spread(value) for value in n.inputs])


def _is_shape_available(op: RuleBuilder, n: Node, whole: Value | None) -> bool:
    """Whether the common shape need not be computed: an input has it, or it is known."""
    out = op.shape(n.output(0))
    return whole is not None or (out is not None and None not in out)


def _same(op: RuleBuilder, a: Value, b: Value) -> bool:
    left, right = op.shape(a), op.shape(b)
    return a is b or (left is not None and left == right and None not in left)


@rule("Select", keeps=EXACT)
def as_select_v2(op: RuleBuilder, n: Node) -> Replacement:
    """SelectV2 broadcasts; a condition per row is reshaped with trailing axes of size one."""
    condition, yes, no = n.inputs
    shape, rows = op.shape(condition), op.shape(yes)
    if shape is None or rows is None:
        return refuse("the ranks of its condition and its values are unknown")
    if len(shape) == 1 and len(rows) > 1:
        last = [-1] + [1] * (len(rows) - 1)
        return op.SelectV2(op.Reshape(condition, last), yes, no)
    return op.SelectV2(condition, yes, no)


@rule("Where", keeps=EXACT)
def where_not_zero(op: RuleBuilder, n: Node) -> Replacement:
    """The older Where takes bools: whether each element differs from zero."""
    if n.inputs[0].dtype.base == BOOL:
        return OtherProblem("its input is bool already")
    return op.Where(op.NotEqual(n.inputs[0], 0), T="bool")


@rule("OneHot", keeps=EXACT)
def one_hot_last(op: RuleBuilder, n: Node) -> Replacement:
    """OneHot adds the last axis, and a transposition moves it."""
    axis, dims = n.attrs["axis"], op.shape(n.inputs[0])
    if axis == -1:
        return refuse("its axis is the last one")
    if dims is None:
        return refuse("the rank of its indices is unknown")
    last = op.OneHot(*n.inputs, **{**n.attrs, "axis": -1})
    rank = len(dims)
    return last if axis == rank else op.Transpose(last, [*range(axis), rank, *range(axis, rank)])
