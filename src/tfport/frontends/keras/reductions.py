"""Sums, means, extremes and norms over axes, with the axes as Keras and TensorFlow state them."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, reduce, reshape
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
    shift = b.tensor(b.node("Select", b.IsFinite(highest), highest, b.ZerosLike(highest)), highest.shape)
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
        x, place = reshape(b, x, (None,)), 0
    else:
        place = axis % rank
    narrow = dtype if dtype in (INT32, INT64) else INT64
    node = b.node(op, x, b.constant(place), output_type=narrow)
    result = b.cast(b.tensor(node, (*x.shape[:place], *x.shape[place + 1 :])), dtype)
    if not keepdims:
        return result
    return reshape(b, result, [1] * rank) if axis is None else expand_dims(b, result, place)
