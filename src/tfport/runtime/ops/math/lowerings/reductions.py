"""Reductions, cumulative sums, ArgMax and ArgMin, lowered to ONNX."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.runtime_branch import runtime_branch
from tfport.runtime.operand import Operand

MAP_RANK = 4
"""The rank of images and maps of scores."""


def _axes(x: Operand, reduction_indices: Operand) -> list[int]:
    """The reduced axes, counted from the front; the host reports invalid ones."""
    known = reduction_indices.known
    if known is None or None in known:
        known = tuple(constant_of(reduction_indices, "the list of axes").reshape(-1).tolist())
    axes = [axis for axis in known if axis is not None]
    if x.rank is None:
        # counted from the same end, different numbers are different axes
        if len(set(axes)) < len(axes) or len({axis < 0 for axis in axes}) > 1:
            raise CannotLower("the axes may be the same")
        return axes
    inside = {axis % x.rank for axis in axes if -x.rank <= axis < x.rank}
    if len(inside) < len(axes):
        raise CannotLower("an axis is repeated or out of range")
    return [axis % x.rank for axis in axes]


def _reduce(b: Builder, op: str, x: Operand, axes: list[int], keep: bool) -> Operand:
    return b.nodes(op, x, b.ints(*axes), keepdims=int(keep))[0] if axes else b.Identity(x)


def _reduction(op: str) -> Any:
    def reduce(b, input, reduction_indices, *, keep_dims):
        return _reduce(b, op, input, _axes(input, reduction_indices), keep_dims)

    return reduce


@lower("Sum")
def total(b, input, reduction_indices, *, keep_dims):
    axes = _axes(input, reduction_indices)
    if input.dtype != INT32 or not axes or input.known is not None:
        return _reduce(b, "ReduceSum", input, axes, keep_dims)
    # ONNX Runtime answers the int32 that is nearest to the sum, which TensorFlow wraps
    return b.cast(_reduce(b, "ReduceSum", b.cast(input, INT64), axes, keep_dims), INT32)


lower("Prod")(_reduction("ReduceProd"))


@lower("EuclideanNorm")
def euclidean_norm(b, input, reduction_indices, *, keep_dims):
    if not input.dtype.is_floating:
        raise CannotLower("integer squares wrap")
    axes = _axes(input, reduction_indices)
    return b.ReduceL2(input, b.ints(*axes), keepdims=int(keep_dims)) if axes else b.Abs(input)


@lower("Mean")
def mean(b, input, reduction_indices, *, keep_dims):
    if not input.dtype.is_floating:
        raise CannotLower("integer means are truncated")
    axes = _axes(input, reduction_indices)
    if not axes or (input.shape is not None and all(input.shape[axis] for axis in axes)):
        return _reduce(b, "ReduceMean", input, axes, keep_dims)
    # the mean of no elements is NaN; ONNX Runtime returns 0
    count = b.ReduceProd(b.Gather(b.Shape(input), b.ints(*axes), axis=0), b.ints(0), keepdims=0)
    return b.Div(_reduce(b, "ReduceSum", input, axes, keep_dims), b.cast(count, input.dtype))


def _extreme(op: str, other: str) -> Any:
    def reduce(b, input, reduction_indices, *, keep_dims):
        axes = _axes(input, reduction_indices)

        def extreme(b: Builder) -> Operand:
            return _reduce(b, op, input, axes, keep_dims)

        def extreme_or_nan(b: Builder) -> Operand:
            # ONNX Runtime ignores NaN. The sum shows one, but is also NaN if both infinities occur.
            value = extreme(b)
            total = _reduce(b, "ReduceSum", input, axes, keep_dims)
            opposite = _reduce(b, other, input, axes, keep_dims)
            both_infinite = b.And(b.IsInf(value), b.IsInf(opposite))
            both = b.And(both_infinite, b.Not(b.Equal(value, opposite)))
            return b.Where(b.And(b.IsNaN(total), b.Not(both)), total, value)

        if not axes or not input.dtype.is_floating:
            return extreme(b)
        # the layout of convolutions does not reach into branches: not for a maximum over time or pixels
        if (
            input.dtype == FLOAT32
            and input.rank is not None
            and input.rank < MAP_RANK
            and input.rank - 1 in axes
        ):
            return runtime_branch(b, _may_have_nan(b, input), extreme_or_nan, extreme, extreme_or_nan)
        return extreme_or_nan(b)

    return reduce


def _may_have_nan(b: Builder, x: Operand) -> Operand:
    """Whether the sum of all elements is NaN, as with NaN or both infinities."""
    return b.IsNaN(b.ReduceSum(x, keepdims=0))


lower("Max")(_extreme("ReduceMax", "ReduceMin"))
lower("Min")(_extreme("ReduceMin", "ReduceMax"))


def _of_bools(op: str) -> Any:
    def reduce(b, input, reduction_indices, *, keep_dims):
        axes = _axes(input, reduction_indices)
        if not axes:
            return b.Identity(input)
        number = _reduce(b, op, b.cast(input, INT32), axes, keep_dims)
        return b.Greater(number, b.const(0, INT32))

    return reduce


lower("All")(_of_bools("ReduceMin"))
lower("Any")(_of_bools("ReduceMax"))


def _arg(op: str, instead: float) -> Any:
    def arg(b, input, dimension, *, output_type):
        axis = constant_of(dimension, "the axis")
        if axis.ndim or (input.rank is not None and not -input.rank <= int(axis) < input.rank):
            raise CannotLower("the axis is out of range")

        def index(b: Builder, x: Operand) -> Operand:
            return b.nodes(op, x, axis=int(axis), keepdims=0, dtype=INT64)[0]

        def index_without_nan(b: Builder) -> Operand:
            """NaN is only chosen if there is nothing else."""
            return index(b, b.Where(b.IsNaN(input), b.const(instead, input.dtype), input))

        if not input.dtype.is_floating:
            result = index(b, input)
        elif input.dtype == FLOAT32 and input.rank is not None and input.rank >= MAP_RANK:
            may_have_nan, any_index = _may_have_nan(b, input), partial(index, x=input)
            result = runtime_branch(b, may_have_nan, index_without_nan, any_index, index_without_nan)
        else:
            result = index_without_nan(b)
        return b.cast(result, output_type)

    return arg


lower("ArgMax")(_arg("ArgMax", -np.inf))
lower("ArgMin")(_arg("ArgMin", np.inf))


@lower("Cumsum")
def cumsum(b, x, axis, *, exclusive, reverse):
    if axis.rank != 0 or x.rank == 0:
        raise CannotLower("the axis is not a scalar, or the input is")
    return b.CumSum(x, axis, exclusive=int(exclusive), reverse=int(reverse))
