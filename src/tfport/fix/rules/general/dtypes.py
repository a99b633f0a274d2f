"""Compute in another dtype if the target has no kernel for a dtype, and cast the result back.

Only dtypes that the target does not support are changed. Tables list the ops whose result is the
same in a wider dtype; for other ops only short floats are widened, which changes rounding. A dtype
that the target does not know at all cannot be cast there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfport.check.devices import plain_devices
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import ANY, EXACT, LOSSY, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INT32, INT64, RESOURCE, VARIANT, DType
from tfport.graph.graph import Node, Value
from tfport.graph.op_signature import Arg, OpSignature
from tfport.registry.resolve import unresolved_attributes, unresolved_kernel
from tfport.registry.unresolved import Question, Unresolved

Ladder = Mapping[DType, tuple[DType, ...]]
SOLVABLE = (
    Question.UNKNOWN_ATTR, Question.ATTR_VALUE, Question.KERNEL_TYPE, Question.KERNEL_LIMIT,
    Question.KERNEL_LIMIT_WITHOUT_ONEDNN, Question.INPUT_TYPE,
)  # fmt: skip


def _ladder(**steps: str) -> Ladder:
    return {DType.parse(dtype): tuple(map(DType.parse, wider.split())) for dtype, wider in steps.items()}


HOLDS = _ladder(
    bool="uint8 int32 float32", float16="float32 float64", bfloat16="float32 float64",
    int8="int32 int64 float32 float64", uint8="int32 int64 float32 float64",
    int16="int32 int64 float32 float64", uint16="int32 int64 float32 float64",
    int32="int64 float64", uint32="int64 float64",
)  # fmt: skip
"""Dtypes that represent all values of another."""
WHOLE: Ladder = {
    dtype: tuple(wide for wide in wider if wide.is_integer)
    for dtype, wider in HOLDS.items()
    if dtype.is_integer
}
BITS = {**HOLDS, **_ladder(uint64="int64")}
"""The same, with dtypes of as many bits, to which a cast changes no bit."""
WHOLE_BITS = {**WHOLE, **_ladder(uint64="int64")}
FLOATS = _ladder(float16="float32 float64", bfloat16="float32 float64")
SHORTER = _ladder(float64="float32", complex128="complex64")
COUNTS: Ladder = {**WHOLE, INT64: (INT32,)}

MOVES = (
    "BatchToSpace BatchToSpaceND BroadcastTo Concat ConcatV2 DepthToSpace Diag DiagPart DynamicPartition "
    "DynamicStitch ExpandDims ExtractImagePatches Fill Gather GatherNd GatherV2 Identity "
    "MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 "
    "MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MirrorPad OneHot OnesLike Pack "
    "Pad PadV2 ParallelDynamicStitch Reshape ResizeNearestNeighbor Reverse ReverseSequence "
    "ReverseV2 Roll Select SelectV2 Slice Snapshot SpaceToBatch SpaceToBatchND SpaceToDepth SparseReorder "
    "SparseToDense Split SplitV Squeeze StopGradient StridedSlice TensorScatterUpdate Tile Transpose "
    "Unpack ZerosLike"
)
"""Ops that only move elements."""
ORDERS = (
    "ArgMax ArgMin Cast ClipByValue CropAndResize Equal Greater GreaterEqual InTopK InTopKV2 Less LessEqual "
    "ListDiff LowerBound Max Maximum Min Minimum NotEqual Relu Relu6 ResizeArea ResizeBicubic ResizeBilinear "
    "SegmentMax SegmentMin Sign TopK TopKV2 Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 "
    "UpperBound Where"
)
"""Ops whose results depend on the values of elements, not on their width."""
DIVISIONS = "Div FloorDiv FloorMod Mod TruncateDiv TruncateMod"
RINGS = (
    "Abs Add AddN AddV2 BatchMatMul BatchMatMulV2 BiasAdd BitwiseAnd BitwiseOr BitwiseXor Cumprod Cumsum "
    "Invert MatMul Mul Neg Prod ScatterNd SegmentProd SegmentSum Square Sub Sum TensorScatterAdd "
    "TensorScatterSub UnsortedSegmentProd UnsortedSegmentSum"
)
"""Integer ops whose low bits depend only on low bits: an overflow is cut off by the cast back."""
EXACTLY: dict[str, Ladder] = {
    **dict.fromkeys(MOVES.split(), BITS),
    **dict.fromkeys(ORDERS.split(), HOLDS),
    **dict.fromkeys(DIVISIONS.split(), WHOLE),
    **dict.fromkeys(RINGS.split(), WHOLE_BITS),
    "InvertPermutation": COUNTS,
}
LIMITED = ("Max", "Min")
"""Ops that return the lowest or highest number of a dtype if there are no elements."""
INDICES = (
    "Index Taxis Tblock_shape Tcrops Tdim Tdims Tidx Tindex Tindices Tk Tlen Tmultiples Tnumsegments "
    "Tpaddings Tperm Tsegmentids Tseed Tshape Tshift TI index_type out_idx out_type output_type shape_type"
)
"""Attributes that are the dtype of indices and sizes."""
SIZED = {
    "out_type": ("Shape", "ShapeN", "Size", "LowerBound", "UpperBound"),
    "output_type": ("ArgMax", "ArgMin"),
}
"""Ops whose attribute of this name is the dtype of indices; for other ops it is that of elements."""
FOURIER = {f"{back}RFFT{axes}": ("Treal", "Tcomplex") for back in ("", "I") for axes in ("", "2D", "3D")}
"""Attributes of a real transform that are the dtype of its output, and depend on that of its input."""
SIZES = ("Shape", "ShapeN", "Size")
"""Ops that return sizes of tensors, which are assumed to be below 2**31."""
PASS_THROUGH = (
    "ConcatV2",
    "ExpandDims",
    "Identity",
    "Pack",
    "Reshape",
    "Slice",
    "Squeeze",
    "StridedSlice",
    "Unpack",
)
DEEPEST = 8
OF_BITS = ("Bitcast", "NextAfter", "SerializeTensor", "Print", "PrintV2")
"""Ops whose results depend on the dtype itself."""


@rule(ANY, keeps=EXACT)
def in_a_wider_type(op: RuleBuilder, n: Node) -> Replacement:
    """A wider dtype represents every value, and the op gives the same result there; overflow is cut off."""
    of_elements = dict.fromkeys(_type_attrs(n), EXACTLY.get(n.op, {}))
    return _converted(op, n, {**of_elements, **dict.fromkeys(_index_attrs(n), COUNTS)})


@rule(ANY, keeps=ROUNDING)
def in_longer_floats(op: RuleBuilder, n: Node) -> Replacement:
    """The op is computed in a longer float dtype, and the result is rounded."""
    if n.op != "Cast" and EXACTLY.get(n.op, {}).keys() & FLOATS:
        return refuse("it must be computed exactly")
    if n.is_stateful or n.op in OF_BITS:
        return refuse(f"the result of {n.op} depends on the dtype")
    return _converted(op, n, dict.fromkeys(("DstT",) if n.op == "Cast" else _type_attrs(n), FLOATS))


@rule(ANY, keeps=LOSSY)
def in_shorter_floats(op: RuleBuilder, n: Node) -> Replacement:
    """The op is computed in a shorter float dtype."""
    if n.is_stateful or n.op in OF_BITS:
        return refuse(f"the result of {n.op} depends on the dtype")
    return _converted(op, n, dict.fromkeys((*_type_attrs(n), *FOURIER.get(n.op, ())), SHORTER))


def _converted(op: RuleBuilder, n: Node, ladders: Mapping[str, Ladder]) -> Replacement:
    signature = n.signature
    if signature is None or op.checker.definition(n.op) is None:
        return OtherProblem("the target does not register the op in any dtype")
    problems = op.checker.unresolved(n)
    refuse_it = refuse if any(map(_is_about_types, problems)) else OtherProblem
    if other := next((p for p in problems if p.question not in SOLVABLE), None):
        if other.question is Question.DATA_TYPE:
            return refuse(f"the target does not know the dtype {other.actual}")
        return refuse_it(f"its dtypes are not the only problem ({other.question.value})")
    for types in _choices(n, signature, ladders):
        if _is_taken(op, n, {**n.attrs, **types}):
            return _with_types(op, n, signature, types)
    return refuse_it("the target has no kernel for another suitable dtype")


def _is_about_types(problem: Unresolved) -> bool:
    """Whether another dtype could be the solution."""
    if problem.question is Question.UNKNOWN_ATTR:
        return isinstance(problem.actual, DType)
    return problem.question is Question.DATA_TYPE or problem.question in SOLVABLE


def _type_attrs(n: Node) -> list[str]:
    """The attributes that are the dtype of an input."""
    signature = n.signature
    return (
        list(dict.fromkeys(arg.type_attr for arg in signature.inputs if arg.type_attr)) if signature else []
    )


def _index_attrs(n: Node) -> list[str]:
    signature = n.signature
    if signature is None:
        return []
    names = (name for name, of in signature.attr_types.items() if of == "type" and name in INDICES.split())
    return [name for name in names if n.op in SIZED.get(name, (n.op,))]


def _choices(n: Node, signature: OpSignature, ladders: Mapping[str, Ladder]) -> Iterator[dict[str, DType]]:
    """Other dtypes for some attributes; those that change the fewest come first."""
    steps: dict[str, tuple[DType, ...]] = {}
    for name, ladder in ladders.items():
        dtype = n.attrs.get(name)
        if isinstance(dtype, DType) and (wider := ladder.get(dtype)) and _may_change(n, signature, name):
            steps[name] = wider
    for count in range(1, len(steps) + 1):
        for names in itertools.combinations(steps, count):
            for types in itertools.product(*(steps[name] for name in names)):
                yield dict(zip(names, types, strict=True))


def _may_change(n: Node, signature: OpSignature, name: str) -> bool:
    """Whether an attribute is the dtype of plain tensors only."""
    args = [arg for arg in (*signature.inputs, *signature.outputs) if arg.type_attr == name]
    return bool(args) and not any(arg.is_ref for arg in args) and not _has_handles(signature)


def _has_handles(signature: OpSignature) -> bool:
    return any(arg.type in (RESOURCE, VARIANT) for arg in (*signature.inputs, *signature.outputs))


def _is_taken(op: RuleBuilder, n: Node, attrs: dict[str, Attr]) -> bool:
    """Whether the target runs the op with these attributes."""
    definition, defaults = op.checker.definition(n.op), n.signature.defaults if n.signature else {}
    assert definition is not None
    names = {attr.name for attr in definition.attr}
    known = {k: v for k, v in attrs.items() if k in names or v != defaults.get(k)}
    if any(unresolved_attributes(known, definition)):
        return False
    registry, devices = op.checker.target.registry, plain_devices(op.checker.target)
    return not registry.is_whole(n.op) or not unresolved_kernel(known, registry.kernels(n.op), devices)


def _with_types(op: RuleBuilder, n: Node, signature: OpSignature, types: dict[str, DType]) -> Replacement:
    inputs: list[Any] = []
    rest = list(n.inputs)
    for arg in signature.inputs:
        group = [rest.pop(0) for _ in range(arg.count(n.attrs))]
        dtype = types.get(arg.type_attr)
        inputs += [value if dtype is None else _cast(op, n, arg, value, dtype) for value in group]
    node = op.node(n.op, *inputs, **{**n.attrs, **types})
    return [_cast_back(op, n, signature, types, node, index) for index in range(len(n.outputs))]


def _cast(op: RuleBuilder, n: Node, arg: Arg, value: Value, dtype: DType) -> Value:
    if dtype == INT32 and value.dtype.base == INT64 and not _fits(op, value):
        raise refuse(f"its {arg.name} is int64 and may exceed int32")
    return op.Cast(value, DstT=dtype).output(0)


def _fits(op: RuleBuilder, value: Value, deep: int = 0) -> bool:
    """Whether numbers are known to fit into int32."""
    if (known := op.array(value)) is not None:
        limits = np.iinfo(np.int32)
        return bool(np.all((known >= limits.min) & (known <= limits.max)))
    node = value.node
    if node.op == "Cast":
        return node.inputs[0].dtype.base in WHOLE
    if node.op in SIZES or deep > DEEPEST:
        return node.op in SIZES
    parts = [part for part in node.inputs if part.dtype.base == INT64]
    return node.op in PASS_THROUGH and bool(parts) and all(_fits(op, part, deep + 1) for part in parts)


def _cast_back(
    op: RuleBuilder, n: Node, signature: OpSignature, types: dict[str, DType], node: Node, index: int
) -> Value:
    port = signature.port_of(index, n.attrs)
    value = node.output(index)
    if port is None or port[0].type_attr not in types:
        return value
    old = n.output(index).dtype.base
    if n.op in LIMITED and old.is_integer:
        limits = np.iinfo(old.numpy)
        limit = limits.min if n.op == "Max" else limits.max
        value = op.node("Maximum" if n.op == "Max" else "Minimum", value, int(limit)).output(0)
    return op.Cast(value, DstT=old).output(0)


# Sizes, axes and indices in int32, which older kernels require.

LEAST, MOST = -(2**31), 2**31 - 1
INPUTS: dict[str, tuple[int, ...]] = {
    op: indices
    for names, indices in {
        "Tile Transpose ConjugateTranspose ExpandDims ReverseV2 MirrorPad Pad PadV2 BroadcastTo": (1,),
        "Sum Prod Max Min Mean Any All EuclideanNorm Cumsum Cumprod CumulativeLogsumexp SplitV Reshape": (1,),
        "Gather GatherNd TensorScatterUpdate TensorScatterAdd TensorScatterSub": (1,),
        "TensorScatterMax TensorScatterMin SegmentSum SegmentMean SegmentMax SegmentMin SegmentProd": (1,),
        "UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd Slice GatherV2": (1, 2),
        "SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN": (1, 2),
        "StridedSlice": (1, 2, 3),
        "Fill": (0,),
        "ScatterNd": (0, 2),
        "LinSpace": (2,),
        "ConcatV2": (-1,),
    }.items()
    for op in names.split()
}
"""The inputs of an op that are sizes, axes or indices; numbers beyond int32 are clipped."""


@rule(" ".join(INPUTS), keeps=EXACT)
def places_in_int32(op: RuleBuilder, n: Node) -> Replacement:
    """Sizes, axes and indices are the same numbers in int32."""
    wanted = {index % len(n.inputs) for index in INPUTS[n.op]}
    if not any(n.inputs[index].dtype.base == INT64 for index in wanted):
        return OtherProblem("its sizes, axes and indices are not int64")
    inputs = [_narrowed(op, v) if index in wanted else v for index, v in enumerate(n.inputs)]
    decided = {arg.type_attr for index, arg in _arguments(n) if index in wanted}
    return op.node(n.op, *inputs, **{k: v for k, v in n.attrs.items() if k not in decided})


def _narrowed(op: RuleBuilder, value: Value) -> Value | Node:
    """The same numbers in int32; a number beyond int32 is clipped, and stays out of range."""
    if value.dtype.base != INT64:
        return value
    known = op.array(value)
    if known is not None:
        return op.const(np.clip(known, LEAST, MOST), INT32)
    return op.Cast(op.Minimum(op.Maximum(value, LEAST), MOST), DstT=INT32)


@rule("BroadcastArgs BroadcastGradientArgs", keeps=EXACT)
def shapes_in_int32(op: RuleBuilder, n: Node) -> Replacement:
    """The shapes are cast to int32, and the result back to int64."""
    if n.inputs[0].dtype.base == INT32:
        return refuse("its shapes are int32")
    node = op.node(n.op, *[op.cast(value, INT32) for value in n.inputs])
    return [op.cast(node.output(value.index), INT64) for value in n.outputs]


def _arguments(n: Node) -> Iterator[tuple[int, Arg]]:
    """The index of each input of a node, and its argument in the signature."""
    index = 0
    for arg in n.signature.inputs if n.signature is not None else ():
        for _ in range(arg.count(n.attrs)):
            yield index, arg
            index += 1
