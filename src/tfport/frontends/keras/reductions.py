"""Sums, means, extremes, norms and softmax over axes, with the axes as Keras and TensorFlow state them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, reduce, reshape, transpose
from tfport.graph.dtypes import INT32, INT64, DType

Axis = int | Sequence[int] | None
"""An axis, several, or all."""


def axes_of(x: LayerTensor, axis: Axis) -> list[int]:
    """The axes as numbers from 0."""
    if axis is None:
        return list(range(x.rank))
    return [a % x.rank for a in ([axis] if isinstance(axis, int) else axis)]


def reduced(b: LayerBuilder, op: str, x: LayerTensor, axis: Axis, keepdims: bool | None) -> LayerTensor:
    """`Sum`, `Mean`, `Max`, `Min`, `Prod`, `All` or `Any`."""
    return reduce(b, op, x, axes_of(x, axis), keep=bool(keepdims))


def variance(b: LayerBuilder, x: LayerTensor, axis: Axis, keepdims: bool | None) -> LayerTensor:
    centered = b.Sub(x, reduced(b, "Mean", x, axis, True))
    return reduced(b, "Mean", b.Square(centered), axis, keepdims)


def log_sum_exp(b: LayerBuilder, x: LayerTensor, axis: Axis, keepdims: bool | None) -> LayerTensor:
    """The logarithm of a sum of exponentials, without overflow; an infinite maximum counts as 0."""
    highest = reduced(b, "Max", x, axis, True)
    shift = b.Select(b.IsFinite(highest), highest, b.ZerosLike(highest))
    total = b.Log(reduced(b, "Sum", b.Exp(b.Sub(x, shift)), axis, keepdims))
    if keepdims:
        return b.Add(total, shift)
    return b.Add(total, reduced(b, "Max", shift, axis, False))


def arg_extreme(
    b: LayerBuilder, op: str, x: LayerTensor, axis: int | None, keepdims: bool, dtype: DType
) -> LayerTensor:
    """The first position of the largest (`ArgMax`) or smallest (`ArgMin`) element."""
    rank = x.rank
    if axis is None:
        x, index = reshape(b, x, (None,)), 0
    else:
        index = axis % rank
    narrow = dtype if dtype in (INT32, INT64) else INT64
    result = b.cast(b.result(op, x, b.constant(index), output_type=narrow), dtype)
    if not keepdims:
        return result
    return reshape(b, result, [1] * rank) if axis is None else expand_dims(b, result, index)


def softmax(b: LayerBuilder, x: LayerTensor, *, axis: int | Sequence[int] = -1) -> LayerTensor:
    """Exponentials that sum to 1 over an axis, or over several axes together."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(axes) == 1:
        return over_last_axis(b, x, axes[0], b.Softmax)
    powers = b.Exp(b.Sub(x, reduce(b, "Max", x, axes, keep=True)))
    return b.RealDiv(powers, reduce(b, "Sum", powers, axes, keep=True))


def log_softmax(b: LayerBuilder, x: LayerTensor, *, axis: int = -1) -> LayerTensor:
    return over_last_axis(b, x, axis, b.LogSoftmax)


def sparsemax(b: LayerBuilder, x: LayerTensor, *, axis: int = -1) -> LayerTensor:
    """`max(x - tau, 0)`, with the `tau` of Keras: it adds the partial sums of all elements that count."""
    return over_last_axis(b, x, axis, lambda rows: _sparsemax_of_last(b, rows))


def _sparsemax_of_last(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    size = x.shape[-1]
    if size is None:
        raise b.refuse("`sparsemax` over an axis of unknown size")
    ranked = b.TopKV2(x, size)
    sums = b.Cumsum(ranked, x.rank - 1)
    ranks = b.constant(np.arange(1, size + 1), x.dtype)
    inside = b.cast(b.Greater(b.Add(b.Mul(ranked, ranks), 1.0), sums), x.dtype)
    count = reduce(b, "Sum", inside, [-1], keep=True)
    total = reduce(b, "Sum", b.Mul(sums, inside), [-1], keep=True)
    return b.Relu(b.Sub(x, b.RealDiv(b.Sub(total, 1.0), count)))


def over_last_axis(
    b: LayerBuilder, x: LayerTensor, axis: int, function: Callable[[LayerTensor], LayerTensor]
) -> LayerTensor:
    """Apply a function of the last axis to another axis."""
    axis = axis % x.rank
    if axis == x.rank - 1:
        return function(x)
    order = list(range(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(b, function(transpose(b, x, order)), order)
