"""Shape rules as TensorFlow's shape functions infer them, compared with real releases.

Recorded from real binaries, which `tests/graph/op_facts/test_compared.py` compares with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.graph.op_facts.kinds import (
    BITWISE,
    COMPARED_BROADCASTING,
    COMPARED_UNARY,
    MERGED_GRADIENTS,
    OTHER_GRADIENTS,
    REDUCTIONS,
    SUMS,
)
from tfport.graph.op_facts.rule import (
    RULES,
    VECTOR,
    Dim,
    Dims,
    OpCall,
    Outputs,
    ShapeConflict,
    ShapeRule,
    at_least_rank,
    broadcast,
    count,
    merge,
    merge_dims,
    of_rank,
    of_unknown_sizes,
    ranks_differ,
    text,
    unknown_of_rank,
)
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

COMPARED: dict[str, ShapeRule] = {}
OLDEST_WITH_SCALARS = 24
"""In graphs of earlier versions, a placeholder with the shape of a scalar has any shape."""


def _compared(ops: str) -> Callable[[ShapeRule], ShapeRule]:
    def declare(function: ShapeRule) -> ShapeRule:
        COMPARED.update(dict.fromkeys(ops.split(), function))
        return function

    return declare


def shape_rule_of(op: str) -> ShapeRule | None:
    """The rule of an op, compared or not, if there is one."""
    return COMPARED.get(op) or next(iter(RULES.of(op)), None)


@_compared("Const")
def constant(call: OpCall) -> Outputs:
    value = call.attr("value")
    return [value.shape.dims if isinstance(value, Tensor) else None]


@_compared("Placeholder VariableV2 PlaceholderV2")
def declared(call: OpCall) -> Outputs:
    shape = call.attr("shape")
    if not isinstance(shape, Shape):
        return [None]
    if call.op == "Placeholder" and not shape.dims and call.version < OLDEST_WITH_SCALARS:
        return [None]
    return [shape.dims]


@_compared("VarHandleOp Size Rank HashTableV2")
def scalar(call: OpCall) -> Outputs:
    return [()]


@_compared("NoOp")
def nothing(call: OpCall) -> Outputs:
    return []


@_compared("Shape")
def shape_of(call: OpCall) -> Outputs:
    return [_rank(call.shapes[0])]


@_compared("ShapeN")
def shapes_of(call: OpCall) -> Outputs:
    return [_rank(shape) for shape in call.shapes]


def _rank(shape: Dims | None) -> Dims:
    return VECTOR if shape is None else (len(shape),)


# Element by element


@_compared(f"{COMPARED_UNARY} {OTHER_GRADIENTS} RandomShuffle")
def same(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@_compared("Softmax LogSoftmax")
def same_of_rank(call: OpCall) -> Outputs:
    return [at_least_rank(call.shapes[0], 1)]


@_compared(MERGED_GRADIENTS)
def merged_pair(call: OpCall) -> Outputs:
    return [merge(call.shapes[0], call.shapes[1])]


@_compared(COMPARED_BROADCASTING)
def broadcast_pair(call: OpCall) -> Outputs:
    a, b = call.shapes
    return [broadcast(a, b)]


@_compared(SUMS)
def alike(call: OpCall) -> Outputs:
    *others, shape = call.shapes
    for other in reversed(others):
        shape = merge(other, shape)
    return [shape]


# Matrices and images


@_compared("MatMul")
def matrix_product(call: OpCall) -> Outputs:
    a, b = (of_rank(shape, 2) for shape in call.shapes[:2])
    if call.attr("transpose_a"):
        a = (a[1], a[0])
    if call.attr("transpose_b"):
        b = (b[1], b[0])
    merge_dims(a[1], b[0])
    return [(a[0], b[1])]


@_compared("BiasAdd")
def biased(call: OpCall) -> Outputs:
    x, bias = call.shapes[0], of_rank(call.shapes[1], 1)
    if x is None or call.attr("data_format") == "NCHW":
        return [x]
    at_least_rank(x, 2)
    return [(*x[:-1], merge_dims(x[-1], bias[0]))]


@_compared("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3")
def normalized(call: OpCall) -> Outputs:
    used = 3 if call.attr("is_training", True) else 5  # training ignores the mean and the variance
    whole, channels = _with_channels(call, call.shapes[:1], call.shapes[1:used])
    more = [None] if call.op == "FusedBatchNormV3" else []
    return [whole, *[channels] * 4, *more]


def _with_channels(
    call: OpCall, images: Sequence[Dims | None], vectors: Sequence[Dims | None]
) -> tuple[Dims | None, Dims]:
    """The shape of the first image and that of a vector, with all that their channels have in common."""
    layout = str(call.attr("data_format", "NHWC"))
    if layout not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        return None, VECTOR
    axis, channels = layout.index("C"), None
    for image in images:
        channels = merge_dims(channels, of_rank(image, len(layout))[axis])
    for vector in vectors:
        channels = merge_dims(channels, of_rank(vector, 1)[0])
    whole = list(of_rank(images[0], len(layout)))
    whole[axis] = channels
    return tuple(whole), (channels,)


# Joined and rearranged


@_compared("ConcatV2")
def concatenated(call: OpCall) -> Outputs:
    return joined(call, call.shapes[:-1], len(call.shapes) - 1)


def joined(call: OpCall, parts: Sequence[Dims | None], axis_input: int) -> Outputs:
    known = [part for part in parts if part is not None]
    for part in known:
        if len(part) != len(known[0]):
            raise ShapeConflict(ranks_differ(known[0], part))
    if not known:
        return [None]
    axis = call.axis(axis_input, len(known[0]))
    if axis is None:
        return [unknown_of_rank(known[0])]
    dims: list[Dim] = [None] * len(known[0])
    for part in known:
        for i, size in enumerate(part):
            dims[i] = None if i == axis else merge_dims(dims[i], size)
    sizes = [None if part is None else part[axis] for part in parts]
    dims[axis] = None if None in sizes else sum(size for size in sizes if size is not None)
    return [tuple(dims)]


@_compared("Pack")
def stacked(call: OpCall) -> Outputs:
    ((shape,), axis) = alike(call), call.attr("axis", 0)
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis + 1 <= len(shape) + 1:
        return [None]
    axis %= len(shape) + 1
    return [(*shape[:axis], len(call.shapes), *shape[axis:])]


@_compared("Reshape")
def reshaped(call: OpCall) -> Outputs:
    x, wanted = call.shapes[0], call.elements(1)
    if wanted is None:
        return [of_unknown_sizes(call.length(1))]
    sizes = tuple(None if size is None or size < 0 else size for size in wanted)
    whole, total = count(sizes), None if x is None else count(x)
    if whole is not None and total is not None and whole != total:
        raise ShapeConflict(
            f"Cannot reshape a tensor with {total} elements to shape {text(sizes)} ({whole} elements)"
        )
    if sizes.count(None) == 1 and total is not None:  # the one unknown size is what the others leave
        rest = count(size for size in sizes if size is not None)
        if rest and total % rest == 0:
            sizes = tuple(total // rest if size is None else size for size in sizes)
    return [sizes]


@_compared("Transpose")
def transposed(call: OpCall) -> Outputs:
    x, order = call.shapes[0], call.integers(1)
    if x is None:
        return [of_unknown_sizes(call.length(1))]
    axes = [] if order is None else [axis % len(x) if x else axis for axis in order]
    if order is None or sorted(axes) != list(range(len(x))):
        return [unknown_of_rank(x)]
    return [tuple(x[axis] for axis in axes)]


@_compared("ExpandDims")
def expanded(call: OpCall) -> Outputs:
    x = call.shapes[0]
    axis = None if x is None else call.axis(1, len(x) + 1)
    if x is None or axis is None:
        return [None]
    return [(*x[:axis], 1, *x[axis:])]


@_compared(REDUCTIONS)
def reduced(call: OpCall) -> Outputs:
    x, axes, keep = call.shapes[0], call.integers(1), call.attr("keep_dims")
    if x is None:
        return [None]
    if axes is None or not all(-len(x) <= axis < len(x) for axis in axes):
        return [unknown_of_rank(x) if keep else None]
    gone = {axis % len(x) for axis in axes}
    if keep:
        return [tuple(1 if i in gone else size for i, size in enumerate(x))]
    return [tuple(size for i, size in enumerate(x) if i not in gone)]


# Ops that infer another shape than earlier releases did (`CHANGED_IN`)


@_compared("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3")
def normalized_gradient(call: OpCall) -> Outputs:
    whole, channels = _with_channels(call, call.shapes[:2], call.shapes[2:5])
    empty = bool(call.attr("is_training", True)) or "2.2" in call.changes
    return [whole, channels, channels, *[(0,) if empty else channels] * 2]


@_compared("BiasAddGrad")
def bias_gradient(call: OpCall) -> Outputs:
    x = call.shapes[0]
    if x is None or len(x) < 2:
        return [VECTOR]
    if call.attr("data_format") != "NCHW":
        return [(x[-1],)]
    at_least_rank(x, 3)
    return [(x[1] if "1.13" in call.changes else x[-3],)]


@_compared(BITWISE)
def bitwise(call: OpCall) -> Outputs:
    a, b = call.shapes
    return [broadcast(a, b) if "1.6" in call.changes else a]


@_compared("UniqueV2 UniqueWithCountsV2")
def unique(call: OpCall) -> Outputs:
    (x, _), axes = call.shapes, call.integers(1)
    counts: Outputs = [VECTOR] if call.op == "UniqueWithCountsV2" else []
    values: Dims | None = VECTOR
    if "2.1" in call.changes:
        values = unknown_of_rank(x)
    if "2.5" not in call.changes:
        return [values, x, *counts]
    if axes == () and x is not None and len(x) != 1:
        raise ShapeConflict("x expects a 1D vector.")
    size = None
    if axes is not None and x is not None:
        axis = axes[0] if axes else 0
        if not -len(x) <= axis < len(x):
            raise ShapeConflict(f"axis expects to be in the range [{-len(x)}, {len(x)})")
        size = x[axis]
    return [values, (size,), *counts]


@_compared("DynamicStitch ParallelDynamicStitch")
def stitched(call: OpCall) -> Outputs:
    half = len(call.shapes) // 2
    rows = [call.integers(index) for index in range(half)]
    rest: Dims | None = None
    for indices, part in zip(call.shapes[:half], call.shapes[half:], strict=True):
        if indices is None or part is None:
            continue
        at_least_rank(part, len(indices))
        for size, number in zip(part, indices, strict=False):
            merge_dims(size, number)
        rest = merge(rest, part[len(indices) :])
    if rest is None:
        return [None]
    last = -1 if "2.1" in call.changes else 0
    known = [row for row in rows if row is not None]
    size = 1 + max((value for row in known for value in row), default=last) if len(known) == half else None
    return [(size, *rest)]


@_compared("SerializeIterator")
def serialized_iterator(call: OpCall) -> Outputs:
    return [VECTOR if "2.2" in call.changes else ()]
