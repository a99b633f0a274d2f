"""The shapes of the outputs of an op, as TensorFlow's shape functions infer them.

Each function gets the node, the shapes of its inputs and the changes that the target has, and returns
the shapes of the outputs, or raises `ShapeConflict` as TensorFlow does. An op that is not here, and
whatever a function does not know, stays unknown: a function may know less than TensorFlow, never
something else.
Recorded from real binaries, which `tests/check/shapes/test_functions.py` compares with. Of 1,200 ops, each
tried with random inputs in 1.4.1, 1.15.5 and 2.21.0, only those of `CHANGED_IN` infer shapes that contradict
those of another release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tfport.graph.constants import constant
from tfport.graph.graph import Node
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor

Dim = int | None
Shapes = list[Shape]
Changes = frozenset[str]
"""The releases of `CHANGED_IN` that the target is, or is later than."""
ShapeFunction = Callable[[Node, Shapes, Changes], Shapes]
SCALAR = Shape(())
FUNCTIONS: dict[str, ShapeFunction] = {}
MOST_VALUES = 64
"""A longer constant is not read: it is no list of axes or sizes."""


class ShapeConflict(Exception):
    """TensorFlow refuses the node; the text is the first words of its message."""


def _shape_function(ops: str) -> Callable[[ShapeFunction], ShapeFunction]:
    def declare(function: ShapeFunction) -> ShapeFunction:
        FUNCTIONS.update(dict.fromkeys(ops.split(), function))
        return function

    return declare


# Sources


@_shape_function("Const")
def _constant(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    value = node.attr("value")
    return [value.shape if isinstance(value, Tensor) else UNKNOWN]


@_shape_function("Placeholder VariableV2 PlaceholderV2")
def _declared(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    shape = node.attr("shape")
    rest = node.graph.rest
    version = rest.versions.producer or rest.version
    if not isinstance(shape, Shape) or (node.op == "Placeholder" and not shape.dims and version < 24):
        return [UNKNOWN]  # in old graphs () stands for any shape
    return [shape]


@_shape_function("VarHandleOp Size Rank HashTableV2 NoOp ShapeN")
def _scalars(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    if node.op == "ShapeN":
        return [Shape((shape.rank,)) for shape in inputs]
    return [] if node.op == "NoOp" else [SCALAR]


@_shape_function("Shape")
def _shape_of(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    return [Shape((inputs[0].rank,))]


# Element by element


@_shape_function(
    "Identity StopGradient PreventGradient Snapshot CheckNumerics ZerosLike OnesLike Cast Abs Acos Acosh "
    "Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv Invert IsFinite IsInf "
    "IsNan LeakyRelu Lgamma Log Log1p LogicalNot Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid "
    "Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh RandomShuffle"
)
def _same(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    return [inputs[0]]


@_shape_function("Softmax LogSoftmax")
def _same_of_rank(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    return [at_least_rank(inputs[0], 1)]


@_shape_function("ReluGrad Relu6Grad EluGrad SeluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad InvGrad")
def _merged_pair(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    merges = node.op in ("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad")
    return [merge(inputs[0], inputs[1]) if merges else inputs[0]]


@_shape_function(
    "Add AddV2 Sub Mul Div RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod Pow Maximum Minimum "
    "SquaredDifference Atan2 Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr Complex DivNoNan "
    "MulNoNan Xdivy Xlogy"
)
def _broadcast_pair(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    a, b = inputs
    return [broadcast(a, b)]


@_shape_function("AddN AccumulateNV2")
def _all_alike(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    shape = inputs[-1]
    for other in reversed(inputs[:-1]):
        shape = merge(other, shape)
    return [shape]


# Matrices and images


@_shape_function("MatMul")
def _matrix_product(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    a, b = (of_rank(shape, 2).dims or (None, None) for shape in inputs)
    if node.attr("transpose_a"):
        a = (a[1], a[0])
    if node.attr("transpose_b"):
        b = (b[1], b[0])
    merge_dims(a[1], b[0])
    return [Shape((a[0], b[1]))]


@_shape_function("BiasAdd")
def _biased(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    x, bias = inputs[0], of_rank(inputs[1], 1)
    if x.dims is None or node.attr("data_format") == "NCHW":
        return [UNKNOWN]
    last = merge_dims(at_least_rank(x, 2).dims[-1], bias.dims[0] if bias.dims else None)  # type: ignore[index]
    return [Shape((*x.dims[:-1], last))]


@_shape_function("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3")
def _normalized(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    used = 3 if node.attrs.get("is_training", True) else 5  # training ignores the mean and the variance
    whole, channels = _with_channels(node, inputs[:1], inputs[1:used])
    more = [UNKNOWN] if node.op == "FusedBatchNormV3" else []
    return [whole, *[channels] * 4, *more]


def _with_channels(node: Node, images: Shapes, vectors: Shapes) -> tuple[Shape, Shape]:
    """The shape of the first image and that of a vector, with all that their channels have in common."""
    layout = str(node.attrs.get("data_format", "NHWC"))
    if layout not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        return UNKNOWN, Shape((None,))
    unknown = (None,) * len(layout)
    place, channels = layout.index("C"), None
    for image in images:
        channels = merge_dims(channels, (of_rank(image, len(layout)).dims or unknown)[place])
    for vector in vectors:
        channels = merge_dims(channels, (of_rank(vector, 1).dims or (None,))[0])
    whole = list(images[0].dims or unknown)
    whole[place] = channels
    return Shape(tuple(whole)), Shape((channels,))


# Joined and rearranged


@_shape_function("ConcatV2")
def _joined(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    *parts, _ = inputs
    known = [part for part in parts if part.dims is not None]
    for part in known:
        if part.rank != known[0].rank:
            raise ShapeConflict(_ranks(known[0], part))
    axis = integers(node, len(node.inputs) - 1)
    if not axis or not known or not -len(known[0].dims or ()) <= axis[0] < len(known[0].dims or ()):
        return [UNKNOWN]
    rank = len(known[0].dims or ())
    place = axis[0] % rank
    dims: list[Dim] = [None] * rank
    for part in known:
        for i, size in enumerate(part.dims or ()):
            dims[i] = None if i == place else merge_dims(dims[i], size)
    sizes = [part.dims[place] if part.dims is not None else None for part in parts]
    dims[place] = None if None in sizes else sum(size for size in sizes if size is not None)
    return [Shape(tuple(dims))]


@_shape_function("Pack")
def _stacked(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    (shape,) = _all_alike(node, inputs, changes)
    axis = node.attrs.get("axis", 0)
    if (
        shape.dims is None
        or not isinstance(axis, int)
        or not -len(shape.dims) <= axis + 1 <= len(shape.dims) + 1
    ):
        return [UNKNOWN]
    place = axis % (len(shape.dims) + 1)
    return [Shape((*shape.dims[:place], len(inputs), *shape.dims[place:]))]


@_shape_function("Reshape")
def _reshaped(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    wanted = integers(node, 1)
    if wanted is None:
        rank = inputs[1].dims[0] if inputs[1].dims and len(inputs[1].dims) == 1 else None
        return [Shape((None,) * rank) if rank is not None else UNKNOWN]
    sizes = Shape(tuple(None if size < 0 else size for size in wanted))
    if sizes.size is not None and inputs[0].size is not None and sizes.size != inputs[0].size:
        raise ShapeConflict(
            f"Cannot reshape a tensor with {inputs[0].size} elements to shape {text(sizes)} "
            f"({sizes.size} elements)"
        )
    return [sizes]


@_shape_function("Transpose")
def _transposed(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    order, dims = integers(node, 1), inputs[0].dims
    if dims is None or order is None or sorted(order) != list(range(len(dims))):
        return [UNKNOWN]
    return [Shape(tuple(dims[axis] for axis in order))]


@_shape_function("ExpandDims")
def _expanded(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    axis, dims = integers(node, 1), inputs[0].dims
    if dims is None or not axis or not -len(dims) - 1 <= axis[0] <= len(dims):
        return [UNKNOWN]
    place = axis[0] % (len(dims) + 1)
    return [Shape((*dims[:place], 1, *dims[place:]))]


@_shape_function("Sum Mean Prod Max Min All Any")
def _reduced(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    axes, dims = integers(node, 1), inputs[0].dims
    if dims is None or axes is None or not all(-len(dims) <= axis < len(dims) for axis in axes):
        return [UNKNOWN]
    gone = {axis % len(dims) for axis in axes}
    if node.attr("keep_dims"):
        return [Shape(tuple(1 if i in gone else size for i, size in enumerate(dims)))]
    return [Shape(tuple(size for i, size in enumerate(dims) if i not in gone))]


# Ops that infer another shape than earlier releases did


@_shape_function("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3")
def _normalized_gradient(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    whole, channels = _with_channels(node, inputs[:2], inputs[2:5])
    empty = bool(node.attrs.get("is_training", True)) or "2.2" in changes
    return [whole, channels, channels, *[Shape((0,)) if empty else channels] * 2]


@_shape_function("BiasAddGrad")
def _bias_gradient(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    dims = inputs[0].dims
    if dims is None or len(dims) < 2:
        return [Shape((None,))]
    if node.attr("data_format") != "NCHW":
        return [Shape((dims[-1],))]
    at_least_rank(inputs[0], 3)
    return [Shape((dims[1] if "1.13" in changes else dims[-3],))]


@_shape_function("BitwiseAnd BitwiseOr BitwiseXor")
def _bitwise(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    a, b = inputs
    return [broadcast(a, b) if "1.6" in changes else a]


@_shape_function("UniqueV2 UniqueWithCountsV2")
def _unique(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    (x, _), axes = inputs, integers(node, 1)
    counts = [Shape((None,))] if node.op == "UniqueWithCountsV2" else []
    values = Shape((None,))
    if "2.1" in changes:
        values = Shape((None,) * len(x.dims)) if x.dims is not None else UNKNOWN
    if "2.5" not in changes:
        return [values, x, *counts]
    if axes == () and x.dims is not None and len(x.dims) != 1:
        raise ShapeConflict("x expects a 1D vector.")
    size = None
    if axes is not None and x.dims is not None:
        axis = axes[0] if axes else 0
        if not -len(x.dims) <= axis < len(x.dims):
            raise ShapeConflict(f"axis expects to be in the range [{-len(x.dims)}, {len(x.dims)})")
        size = x.dims[axis]
    return [values, Shape((size,)), *counts]


@_shape_function("DynamicStitch ParallelDynamicStitch")
def _stitched(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    half = len(inputs) // 2
    rows = [integers(node, place) for place in range(half)]
    rest = UNKNOWN
    for indices, part in zip(inputs[:half], inputs[half:], strict=True):
        if indices.dims is None or part.dims is None:
            continue
        at_least_rank(part, len(indices.dims))
        for size, count in zip(part.dims, indices.dims, strict=False):
            merge_dims(size, count)
        rest = merge(rest, Shape(part.dims[len(indices.dims) :]))
    if rest.dims is None:
        return [UNKNOWN]
    last = -1 if "2.1" in changes else 0
    known = [row for row in rows if row is not None]
    size = 1 + max((value for row in known for value in row), default=last) if len(known) == half else None
    return [Shape((size, *rest.dims))]


@_shape_function("SerializeIterator")
def _serialized_iterator(node: Node, inputs: Shapes, changes: Changes) -> Shapes:
    return [Shape((None,)) if "2.2" in changes else SCALAR]


CHANGED_IN = {
    "BiasAddGrad": ("1.13",),
    **dict.fromkeys(("DynamicStitch", "ParallelDynamicStitch"), ("2.1",)),
    "SerializeIterator": ("2.2",),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), ("1.6",)),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), ("2.2",)),
    **dict.fromkeys(("UniqueV2", "UniqueWithCountsV2"), ("2.1", "2.5")),
}
"""The releases in which an op began to infer other shapes. Of complete inputs, these functions know all that
TensorFlow does."""


# What shape functions share, with TensorFlow's words


def merge(a: Shape, b: Shape) -> Shape:
    """The shape that both are."""
    if a.dims is None or b.dims is None:
        return b if a.dims is None else a
    if len(a.dims) != len(b.dims):
        raise ShapeConflict(_ranks(a, b))
    dims = []
    for place, (x, y) in enumerate(zip(a.dims, b.dims, strict=True)):
        if x is not None and y is not None and x != y:
            raise ShapeConflict(
                f"Dimension {place} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {text(a)} and {text(b)}."
            )
        dims.append(y if x is None else x)
    return Shape(tuple(dims))


def merge_dims(a: Dim, b: Dim) -> Dim:
    if a is not None and b is not None and a != b:
        raise ShapeConflict(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def broadcast(a: Shape, b: Shape) -> Shape:
    if a.dims is None or b.dims is None:
        return UNKNOWN
    rank = max(len(a.dims), len(b.dims))
    return Shape(tuple(map(_broadcast_dims, _padded(a.dims, rank), _padded(b.dims, rank))))


def _padded(dims: Sequence[Dim], rank: int) -> Iterable[Dim]:
    return [1] * (rank - len(dims)) + list(dims)


def _broadcast_dims(a: Dim, b: Dim) -> Dim:
    if a is None or b is None:
        known = b if a is None else a
        return known if known is not None and known > 1 else None
    return b if a == 1 else a if b == 1 else merge_dims(a, b)


def of_rank(shape: Shape, rank: int) -> Shape:
    if shape.dims is not None and len(shape.dims) != rank:
        raise ShapeConflict(f"Shape must be rank {rank} but is rank {len(shape.dims)}")
    return shape


def at_least_rank(shape: Shape, rank: int) -> Shape:
    if shape.dims is not None and len(shape.dims) < rank:
        raise ShapeConflict(f"Shape must be at least rank {rank} but is rank {len(shape.dims)}")
    return shape


def _ranks(a: Shape, b: Shape) -> str:
    return f"Shapes must be equal rank, but are {a.rank} and {b.rank}"


def integers(node: Node, place: int) -> tuple[int, ...] | None:
    """The values of a short constant input; None if it is not one."""
    tensor = constant(node.inputs[place]) if place < len(node.inputs) else None
    if tensor is None or (tensor.shape.size or 0) > MOST_VALUES or not tensor.dtype.is_integer:
        return None
    return tuple(tensor.integers())


def text(shape: Shape) -> str:
    """A shape as TensorFlow prints it: `[?,3]`, `<unknown>`."""
    if shape.dims is None:
        return "<unknown>"
    return "[" + ",".join("?" if size is None else str(size) for size in shape.dims) + "]"
