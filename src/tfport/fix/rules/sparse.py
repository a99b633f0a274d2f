"""Sparse tensors and sparse segments: the number of segments, dtypes of ids, and dense results."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node, Value

SEGMENTS = "SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN"
NUMBERED = " ".join(f"{op}WithNumSegments" for op in SEGMENTS.split())
GRADIENTS = "SparseSegmentMeanGrad SparseSegmentSqrtNGrad SparseSegmentSumGrad"


@rule(f"{SEGMENTS} {NUMBERED} {GRADIENTS}", keeps=EXACT)
def segment_ids_of_32_bits(op: RuleBuilder, n: Node) -> Replacement:
    """The segment ids are cast to int32, which older releases require; a tensor's row numbers fit int32."""
    if n.attrs["Tsegmentids"] != INT64:
        return OtherProblem("its segment ids are int32 already")
    data, indices, ids, *rest = n.inputs
    attrs = {name: value for name, value in n.attrs.items() if name not in ("Tsegmentids", "_output_shapes")}
    return op.node(n.op, data, indices, op.Cast(ids, DstT="int32"), *rest, **attrs, Tsegmentids=INT32)


@rule(NUMBERED, keeps=EXACT)
def rows_of_zeros_behind(op: RuleBuilder, n: Node) -> Replacement:
    """Segments after the last one that has rows are zeros."""
    data, indices, ids, count = n.inputs
    rows = op.node(n.op.removesuffix("WithNumSegments"), data, indices, ids)
    shape, wanted = op.Shape(rows, out_type="int32"), op.Cast(count, DstT="int32")
    first = op.StridedSlice(shape, [0], [1], [1])
    missing = op.Sub(op.Reshape(wanted, [1]), first)
    inner = op.StridedSlice(shape, [1], [0], [1], end_mask=1)
    zeros = op.Fill(op.ConcatV2([missing, inner], 0), op.Cast(0, SrcT="int32", DstT=data.dtype.base))
    return op.ConcatV2([rows, zeros], 0)


@rule("SparseSegmentSumGrad", keeps=ROUNDING)
def gradients_added_by_row(op: RuleBuilder, n: Node) -> Replacement:
    """The gradient of a row is the sum of the gradients of its segments."""
    gradient, indices, ids, count = n.inputs
    return op.UnsortedSegmentSum(op.Gather(gradient, ids), indices, count)


@rule("SparseToDense", keeps=EXACT)
def gathered_by_number(op: RuleBuilder, n: Node) -> Replacement:
    """The indices of the values are made dense, and the values gathered, with the default appended."""
    indices, shape, values, default = n.inputs
    if (rank := op.shape(values)) is None or len(rank) != 1:
        return refuse("its values are not known to be a vector")
    if values.dtype.base in (INT32, INT64):
        return OtherProblem("its values are integers already")
    zero, step = op.const(0, INT32), op.const(1, INT32)
    count = op.Size(values, out_type="int32")
    number = op.SparseToDense(
        indices, shape, op.Range(zero, count, step), count, validate_indices=n.attrs["validate_indices"]
    )
    return op.Gather(op.ConcatV2([values, op.Reshape(default, [1])], 0), number)


@rule("SparseTensorDenseMatMul", keeps=EXACT)
def indices_of_64_bits(op: RuleBuilder, n: Node) -> Replacement:
    """The indices are cast to int64, the only dtype that the first releases support."""
    if n.attrs["Tindices"] == INT64:
        return OtherProblem("its indices are int64 already")
    indices, *rest = n.inputs
    flags = {name: n.attrs[name] for name in ("adjoint_a", "adjoint_b")}
    wide: Node | Value = op.Cast(indices, DstT="int64")
    return op.SparseTensorDenseMatMul(wide, *rest, **flags)
