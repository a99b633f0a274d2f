"""Reductions, largest and distinct elements, running sums, normalization, Fourier transforms."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value

OPS = {"SUM": "Sum", "MEAN": "Mean", "REDUCE_PROD": "Prod", "REDUCE_MAX": "Max", "REDUCE_MIN": "Min",
       "REDUCE_ANY": "Any", "REDUCE_ALL": "All"}  # fmt: skip


@builtin("SUM MEAN REDUCE_PROD REDUCE_ANY REDUCE_ALL")
def reduce(b: OperatorBuilder, x: LiteValue, axes: LiteValue, *, keep_dims: bool = False) -> Node:
    return b.node(OPS[b.operator.code.op], x, reduced_axes(b, x, axes), keep_dims=keep_dims)


@builtin("REDUCE_MAX REDUCE_MIN", any_type=True)
def extreme(b: OperatorBuilder, x: LiteValue, axes: LiteValue, *, keep_dims: bool = False) -> Node:
    return b.node(OPS[b.operator.code.op], x, reduced_axes(b, x, axes), keep_dims=keep_dims)


def reduced_axes(b: OperatorBuilder, x: LiteValue, axes: LiteValue) -> Value:
    """The axes; TensorFlow refuses one that is named twice."""
    if axes.array is None or x.rank == 0:
        return b.value(axes)
    named = axes.array.reshape(-1)
    unique = dict.fromkeys(int(axis) % x.rank if -x.rank <= axis < x.rank else int(axis) for axis in named)
    return b.const(np.array(list(unique), np.int32), INT32)


# Largest and distinct elements, running sums and buckets


@builtin("ARG_MAX ARG_MIN", any_type=True)
def arg_extreme(b: OperatorBuilder, x: LiteValue, axis: LiteValue, *, output_type: str = "") -> Node:
    op = {"ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin"}[b.operator.code.op]
    scalar = b.Reshape(axis, b.const([], INT32))
    return b.node(op, x, scalar, output_type=b.dtype(b.outputs[0].type))


@builtin("TOPK_V2", any_type=True)
def top_k(b: OperatorBuilder, x: LiteValue, k: LiteValue) -> list[Value]:
    top = b.TopKV2(x, b.cast(b.Reshape(k, b.const([], INT32)), INT32))
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
    scalar = b.Reshape(count, b.const([], INT32))
    return b.node("".join(word.capitalize() for word in words), x, segments, scalar)


# Normalization


@builtin("L2_NORMALIZATION")
def l2_normalization(b: OperatorBuilder, x: LiteValue) -> Node:
    """Vectors along the last axis get the length 1; shorter ones than 1e-6 are divided by that."""
    length = b.Sqrt(b.Sum(b.Square(x), [-1], keep_dims=True))
    return b.RealDiv(x, b.Maximum(length, 1e-6))


@builtin("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(
    b: OperatorBuilder, x: LiteValue, *, radius: int, bias: float, alpha: float, beta: float
) -> Node:
    return b.LRN(x, depth_radius=radius, bias=bias, alpha=alpha, beta=beta)


# Fourier transforms


@builtin("RFFT2D")
def rfft_2d(b: OperatorBuilder, x: LiteValue, length: LiteValue) -> Node:
    """Rows and columns beyond the input are zeros."""
    short = [0, 0]
    if length.array is not None:
        sizes = zip(length.array.tolist(), x.shape[-2:], strict=True)
        short = [max(0, wanted - size) if size is not None else 0 for wanted, size in sizes]
    if any(short):
        pads = [[0, 0]] * (x.rank - 2) + [[0, more] for more in short]
        return b.RFFT2D(b.Pad(x, pads), length)
    return b.RFFT2D(x, length)
