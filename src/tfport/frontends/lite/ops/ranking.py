"""Largest elements, distinct elements, running sums and buckets."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value


@builtin("ARG_MAX ARG_MIN", any_type=True)
def arg_extreme(b: OperatorBuilder, x: LiteValue, axis: LiteValue, *, output_type: str = "") -> Node:
    op = {"ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin"}[b.operator.code.op]
    scalar = b.Reshape(axis, b.constant([], INT32))
    return b.node(op, x, scalar, output_type=b.dtype(b.outputs[0].type))


@builtin("TOPK_V2", any_type=True)
def top_k(b: OperatorBuilder, x: LiteValue, k: LiteValue) -> list[Value]:
    top = b.TopKV2(x, b.cast(b.Reshape(k, b.constant([], INT32)), INT32))
    return [top.output(0), b.cast(top.output(1), b.dtype(b.outputs[1].type))]


@builtin("UNIQUE", any_type=True)
def unique(b: OperatorBuilder, x: LiteValue, *, idx_out_type: str = "INT32") -> list[Value]:
    node = b.Unique(x, out_idx=b.dtype(b.outputs[1].type))
    return [node.output(0), node.output(1)]


@builtin("CUMSUM")
def cumsum(
    b: OperatorBuilder, x: LiteValue, axis: LiteValue, *, exclusive: bool = False, reverse: bool = False
) -> Node:
    return b.Cumsum(x, axis, exclusive=exclusive, reverse=reverse)


@builtin("BUCKETIZE")
def bucketize(b: OperatorBuilder, x: LiteValue, *, boundaries: tuple[float, ...] = ()) -> Node:
    return b.Bucketize(x, boundaries=list(boundaries or ()))


@builtin("SEGMENT_SUM")
def segment_sum(b: OperatorBuilder, x: LiteValue, segments: LiteValue) -> Node:
    return b.SegmentSum(x, segments)


@builtin("UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN")
def unsorted_segment(b: OperatorBuilder, x: LiteValue, segments: LiteValue, count: LiteValue) -> Node:
    words = b.operator.code.op.split("_")
    scalar = b.Reshape(count, b.constant([], INT32))
    return b.node("".join(word.capitalize() for word in words), x, segments, scalar)
