"""Shape rules of ops that make, rearrange, slice, gather and scatter arrays."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.graph.op_facts.compared import joined, reduced, transposed
from tfport.graph.op_facts.kinds import (
    COMPARISONS,
    MORE_GRADIENTS,
    OTHER_BROADCASTING,
    OTHER_REDUCTIONS,
    OTHER_UNARY,
)
from tfport.graph.op_facts.rule import (
    MOST_AXES,
    VECTOR,
    Dim,
    Dims,
    OpCall,
    Outputs,
    broadcast,
    merge,
    merge_dims,
    of_unknown_sizes,
    shape_in,
    shape_rule,
    unknown_of_rank,
)
from tfport.graph.shapes import Shape

# Element by element


@shape_rule(
    f"{OTHER_UNARY} {MORE_GRADIENTS} BatchNormWithGlobalNormalization BiasAddV1 Cross Cumprod Cumsum "
    "CumulativeLogsumexp DeepCopy FakeQuantWithMinMaxVarsPerChannel GuaranteeConst InvertPermutation LRN "
    "RefIdentity QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 Reverse "
    "ReverseSequence ReverseV2 Roll ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterMax "
    "TensorScatterMin TensorScatterSub TensorScatterUpdate"
)
def same(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@shape_rule(OTHER_BROADCASTING)
def broadcast_all(call: OpCall) -> Outputs:
    return [broadcast(*call.shapes)]


@shape_rule(COMPARISONS)
def compared(call: OpCall) -> Outputs:
    if call.attr("incompatible_shape_error", True):
        return broadcast_all(call)
    # the result for shapes that do not broadcast is a scalar
    a, b = call.shapes
    if a is None or b is None:
        return [None]
    pairs = list(zip(reversed(a), reversed(b), strict=False))
    if all(1 in pair or (x == y and x is not None) for pair in pairs for x, y in [pair]):
        return broadcast_all(call)
    return [None if None in (*a, *b) else ()]


@shape_rule("Select")
def selected(call: OpCall) -> Outputs:
    _, x, y = call.shapes
    return [merge(x, y)]


@shape_rule("IdentityN")
def all_same(call: OpCall) -> Outputs:
    return list(call.shapes)


@shape_rule(OTHER_REDUCTIONS)
def reduced_too(call: OpCall) -> Outputs:
    return reduced(call)


@shape_rule("ArgMax ArgMin")
def best_along(call: OpCall) -> Outputs:
    x = call.shapes[0]
    if not x:
        return [None]
    axis = call.axis(1, len(x))
    return [(None,) * (len(x) - 1) if axis is None else without(x, axis)]


def without(shape: Dims, axis: int) -> Dims:
    return (*shape[:axis], *shape[axis + 1 :])


@shape_rule("Bitcast")
def recast(call: OpCall) -> Outputs:
    shape, dtype = call.shapes[0], call.attr("type")
    if shape is None or dtype is None:
        return [None]
    old, new = call.dtype(0).base.numpy.itemsize, dtype.numpy.itemsize
    return [shape if old == new else (*shape, old // new) if old > new else shape[:-1]]


# Made from sizes


@shape_rule("Fill BroadcastTo")
def of_sizes(call: OpCall) -> Outputs:
    return [shape_in(call, 1 if call.op == "BroadcastTo" else 0)]


@shape_rule("BroadcastArgs")
def broadcast_sizes(call: OpCall) -> Outputs:
    a, b = call.length(0), call.length(1)
    return [VECTOR if a is None or b is None else (max(a, b),)]


@shape_rule("Range")
def counted(call: OpCall) -> Outputs:
    known = [call.integers(index) for index in range(3)]
    (start,), (limit,), (step,) = (numbers if numbers else (None,) for numbers in known)
    if start is None or limit is None or not step:
        return [VECTOR]
    return [(len(range(start, limit, step)),)]


@shape_rule("LinSpace")
def spaced(call: OpCall) -> Outputs:
    known = call.integers(2)
    return [(known[0],) if known else VECTOR]


@shape_rule("EnsureShape PlaceholderWithDefault")
def ensured(call: OpCall) -> Outputs:
    shape = call.attr("shape")
    if call.op == "PlaceholderWithDefault":
        return [shape.dims if isinstance(shape, Shape) else None]
    return [merge(call.shapes[0], shape.dims) if isinstance(shape, Shape) else call.shapes[0]]


@shape_rule("OneHot")
def one_hot(call: OpCall) -> Outputs:
    indices, axis, depth = call.shapes[0], call.attr("axis", -1), call.integers(1)
    if indices is None or not -1 <= axis <= len(indices):
        return [None]
    axis %= len(indices) + 1
    return [(*indices[:axis], depth[0] if depth else None, *indices[axis:])]


# Joined, split and rearranged


@shape_rule("Concat")
def joined_along_first(call: OpCall) -> Outputs:
    return joined(call, call.shapes[1:], 0)


@shape_rule("ConjugateTranspose")
def conjugated(call: OpCall) -> Outputs:
    return transposed(call)


@shape_rule("Unpack")
def unstacked(call: OpCall) -> Outputs:
    x, axis, number = call.shapes[0], call.attr("axis", 0), call.number("num")
    if x is None or not -len(x) <= axis < len(x):
        return [None] * number
    return [without(x, axis % len(x))] * number


@shape_rule("Split SplitV")
def split(call: OpCall) -> Outputs:
    value, axis_input = (1, 0) if call.op == "Split" else (0, 2)
    x, number = call.shapes[value], call.number("num_split")
    axis = None if x is None else call.axis(axis_input, len(x))
    if x is None or axis is None:
        return [unknown_of_rank(x)] * number
    sizes: Sequence[Dim] = [None] * number
    whole = x[axis]
    if call.op == "Split":
        sizes = [whole // number if whole is not None and number and whole % number == 0 else None] * number
    elif (known := call.elements(1)) is not None and len(known) == number:
        stated = [size for size in known if size is not None and size >= 0]
        rest = whole - sum(stated) if whole is not None and len(stated) == number - 1 else None
        sizes = [size if size is not None and size >= 0 else rest for size in known]
    return [(*x[:axis], size, *x[axis + 1 :]) for size in sizes]


@shape_rule("Squeeze")
def squeezed(call: OpCall) -> Outputs:
    x, axes = call.shapes[0], call.attr("squeeze_dims")
    if x is None or (not axes and None in x):
        return [None]
    if axes:
        gone = {axis % len(x) for axis in axes if -len(x) <= axis < len(x)}
        return [tuple(size for i, size in enumerate(x) if i not in gone)]
    return [tuple(size for size in x if size != 1)]


@shape_rule("Tile")
def tiled(call: OpCall) -> Outputs:
    x, times = call.shapes[0], call.elements(1)
    if x is None:
        return [of_unknown_sizes(call.length(1))]
    if times is None or len(times) != len(x):
        return [unknown_of_rank(x)]
    return [tuple(None if n is None or t is None else n * t for n, t in zip(x, times, strict=True))]


@shape_rule("Pad PadV2 MirrorPad")
def padded(call: OpCall) -> Outputs:
    x, amounts = call.shapes[0], call.elements(1)
    if x is None:
        return [of_unknown_sizes(call.shapes[1][0] if call.shapes[1] else None)]
    if amounts is None or len(amounts) != 2 * len(x):
        return [unknown_of_rank(x)]
    around = zip(x, amounts[::2], amounts[1::2], strict=True)
    return [tuple(None if None in (n, p, q) else n + p + q for n, p, q in around)]  # type: ignore[operator]


@shape_rule("SpaceToDepth DepthToSpace")
def blocks_and_channels(call: OpCall) -> Outputs:
    layout, block = str(call.attr("data_format", "NHWC")), call.attr("block_size")
    x = call.shapes[0]
    if layout not in ("NHWC", "NCHW") or (x is not None and len(x) != 4):
        return [(None,) * (4 if len(layout) == 4 else 5)]
    to_depth = call.op == "SpaceToDepth"
    sizes = []
    for letter, size in zip(layout, x or (None,) * 4, strict=True):
        if size is None or letter == "N":
            sizes.append(size)
        elif letter == "C":
            sizes.append(size * block * block if to_depth else size // (block * block))
        else:
            sizes.append(size // block if to_depth else size * block)
    return [tuple(sizes)]


@shape_rule("SpaceToBatch SpaceToBatchND BatchToSpace BatchToSpaceND")
def blocks_and_batch(call: OpCall) -> Outputs:
    x, to_batch = call.shapes[0], call.op.startswith("SpaceToBatch")
    if not x:
        return [x]
    if call.op.endswith("ND"):
        blocks, margins = call.elements(1), call.elements(2)
    else:
        blocks, margins = (call.attr("block_size"),) * 2, call.elements(1)
    if blocks is None or None in blocks:
        return [unknown_of_rank(x)]
    if margins is None or len(margins) != 2 * len(blocks):
        margins = (None,) * 2 * len(blocks)
    batch, sizes = x[0], list(x[1:])
    for axis, block in enumerate(blocks):
        size, low, high = sizes[axis], margins[2 * axis], margins[2 * axis + 1]
        batch = None if batch is None or block is None else batch * block if to_batch else batch // block
        if None in (size, block, low, high):
            sizes[axis] = None
        elif to_batch:
            sizes[axis] = (size + low + high) // block  # type: ignore[operator]
        else:
            sizes[axis] = size * block - low - high  # type: ignore[operator]
    return [(batch, *sizes)]


# Slices


@shape_rule("Slice")
def sliced(call: OpCall) -> Outputs:
    x, first, sizes = call.shapes[0], call.elements(1), call.elements(2)
    if x is None:
        x = of_unknown_sizes(_first_known(call.length(1), call.length(2)))
    if x is None or sizes is None or len(sizes) != len(x):
        return [unknown_of_rank(x)]
    begins = first if first is not None and len(first) == len(x) else (None,) * len(x)
    return [tuple(map(_span, x, begins, sizes))]


def _first_known(*sizes: Dim) -> Dim:
    return next((size for size in sizes if size is not None), None)


def _span(whole: Dim, begin: Dim, size: Dim) -> Dim:
    if size != -1:
        return size
    return None if whole is None or begin is None else max(whole - begin, 0)


@shape_rule("StridedSlice")
def strided(call: OpCall) -> Outputs:
    parts = strided_parts(call)
    x = call.shapes[0]
    if parts is None:
        return [None]
    dims: list[Dim] = []
    axis = 0
    for part in parts:
        if part == NEW:
            dims.append(1)
            continue
        size = x[axis] if x is not None else None
        axis += 1
        if part == WHOLE:
            dims.append(size)
        elif isinstance(part, tuple):
            dims.append(_strided_size(size, *part))
    return [(*dims, *(x[axis:] if x is not None else ()))]


NEW, WHOLE, ONE = "new", "whole", "one"
Part = str | tuple[Dim, Dim, Dim]
"""What a slice does with an axis: a new one, all of it, one element, or begin, end and stride, where None in
begin and end stands for the first or last element, and `UNKNOWN` for one that is not known."""
UNKNOWN = 1 << 62


def strided_parts(call: OpCall) -> list[Part] | None:
    """What a StridedSlice does, axis by axis; None if its length or the rank of the input is unknown."""
    length, x = _first_known(*map(call.length, (1, 2, 3))), call.shapes[0]
    if length is None or length > MOST_AXES or x is None:
        return None
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    begin_mask, end_mask, ellipsis, new, shrink = (call.attr(name, 0) for name in names)
    begins, ends, strides = (call.elements(i) or (None,) * length for i in (1, 2, 3))
    if any(len(numbers) != length for numbers in (begins, ends, strides)):
        return None
    covered = sum(1 for i in range(length) if not (ellipsis >> i & 1 or new >> i & 1))
    parts: list[Part] = []
    for i in range(length):
        if ellipsis >> i & 1:
            parts += [WHOLE] * (len(x) - covered)
        elif new >> i & 1:
            parts.append(NEW)
        elif shrink >> i & 1:
            parts.append(ONE)
        else:
            begin = None if begin_mask >> i & 1 else UNKNOWN if begins[i] is None else begins[i]
            end = None if end_mask >> i & 1 else UNKNOWN if ends[i] is None else ends[i]
            parts.append((begin, end, strides[i]))
    read = sum(1 for part in parts if part != NEW)
    return parts if read <= len(x) else None


def _strided_size(size: Dim, begin: Dim, end: Dim, stride: Dim) -> Dim:
    if size is None and stride == 1 and begin in (None, 0) and end is None:
        return None
    if size is None or not stride or UNKNOWN in (begin, end):
        return None
    return len(range(*slice(begin, end, stride).indices(size)))


# Gathered and scattered


@shape_rule("Gather GatherV2 ResourceGather")
def gathered(call: OpCall) -> Outputs:
    """Of a resource, the first shape is that of the variable."""
    x, indices, batch = call.shapes[0], call.shapes[1], call.attr("batch_dims", 0)
    if not x or indices is None:
        return [None]
    batch = batch + len(indices) if batch < 0 else batch
    axis = call.axis(2, len(x)) if call.op == "GatherV2" else batch
    if axis is None:
        return [(None,) * (len(x) + len(indices) - 1 - batch)]
    same = map(merge_dims, x[:batch], indices[:batch])
    return [(*same, *x[batch:axis], *indices[batch:], *x[axis + 1 :])]


@shape_rule("Addons>GatherTree GatherTree")
def paths(call: OpCall) -> Outputs:
    return [merge(call.shapes[0], call.shapes[1])]


@shape_rule("Addons>EmbeddingBag")
def bags(call: OpCall) -> Outputs:
    indices, params = call.shapes[:2]
    return [(indices[0] if indices else None, params[-1] if params else None)]


@shape_rule("GatherNd ResourceGatherNd")
def gathered_points(call: OpCall) -> Outputs:
    x, indices = call.shapes
    if not x or not indices or indices[-1] is None:
        return [None]
    return [(*indices[:-1], *x[indices[-1] :])]


@shape_rule("ScatterNd")
def scattered(call: OpCall) -> Outputs:
    return [shape_in(call, 2)]


@shape_rule("Where")
def where(call: OpCall) -> Outputs:
    x = call.shapes[0]
    return [(None, None if x is None else len(x))]


@shape_rule("DynamicPartition")
def partitioned(call: OpCall) -> Outputs:
    data, partitions = call.shapes
    number = call.number("num_partitions")
    if data is None or partitions is None:
        return [None] * number
    return [(None, *data[len(partitions) :])] * number


@shape_rule("Unique")
def unique(call: OpCall) -> Outputs:
    return [VECTOR, call.shapes[0]]


@shape_rule("UniqueWithCounts")
def unique_counts(call: OpCall) -> Outputs:
    return [VECTOR, call.shapes[0], VECTOR]


@shape_rule("ListDiff RaggedRange")
def two_vectors(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR]


@shape_rule("TopK TopKV2 ApproxTopK")
def best(call: OpCall) -> Outputs:
    x = call.shapes[0]
    if not x:
        return [None, None]
    axis = call.attr("reduction_dimension", -1) if call.op == "ApproxTopK" else -1
    if call.op == "TopKV2":
        known = call.integers(1)
        number = known[0] if known else None
    else:
        number = call.attr("k")
    axis %= len(x)
    whole = call.op != "ApproxTopK" or call.attr("aggregate_to_topk", True)
    shape = (*x[:axis], number if whole else None, *x[axis + 1 :])
    return [shape, shape]


# Lists and arrays of tensors


@shape_rule("TensorListLength TensorArraySize TensorArraySizeV2 TensorArraySizeV3")
def scalar(call: OpCall) -> Outputs:
    return [()]


@shape_rule("TensorListGetItem")
def item(call: OpCall) -> Outputs:
    return [shape_in(call, 2)]


@shape_rule("TensorListGather")
def items(call: OpCall) -> Outputs:
    inner = shape_in(call, 2)
    return [None if inner is None else (call.length(1), *inner)]


@shape_rule("TensorListStack")
def stacked_items(call: OpCall) -> Outputs:
    inner, number = shape_in(call, 1), call.attr("num_elements", -1)
    return [None if inner is None else (number if number >= 0 else None, *inner)]


@shape_rule("TensorArrayGatherV3")
def gathered_items(call: OpCall) -> Outputs:
    inner = call.attr("element_shape")
    known = isinstance(inner, Shape) and inner.dims is not None
    return [(call.length(1), *inner.dims) if known else None]


# Segments


@shape_rule(
    "SegmentSum SegmentMean SegmentProd SegmentMax SegmentMin SparseSegmentSum SparseSegmentMean "
    "SparseSegmentSqrtN SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments "
    "SparseSegmentSqrtNWithNumSegments"
)
def segments(call: OpCall) -> Outputs:
    x = call.shapes[0]
    return [(None, *x[1:]) if x else None]


@shape_rule("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin")
def unsorted_segments(call: OpCall) -> Outputs:
    data, ids, _ = call.shapes
    if data is None or ids is None:
        return [None]
    number = call.elements(2)
    return [(number[0] if number else None, *data[len(ids) :])]


@shape_rule("Bincount HistogramFixedWidth")
def counts(call: OpCall) -> Outputs:
    return [VECTOR]


@shape_rule("DenseBincount")
def dense_counts(call: OpCall) -> Outputs:
    x = call.shapes[0]
    return [None if x is None else (None,) * max(len(x), 1)]


@shape_rule("IsotonicRegression")
def two_alike(call: OpCall) -> Outputs:
    return [call.shapes[0], call.shapes[0]]
