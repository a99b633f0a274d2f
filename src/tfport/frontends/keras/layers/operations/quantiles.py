"""Medians, quantiles and percentiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.operations.reductions import ascending
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.reductions import Axis, axes_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, gather, reduce, reshape, transpose
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import INT32, DType

_FLOAT64 = DType.parse("float64")


@layer("ops.Median")
def median(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return quantile(b, x, 0.5, axis=axis, keepdims=keepdims)


@layer("ops.Percentile")
def percentile(
    b: LayerBuilder,
    x: LayerTensor,
    q: Any,
    *,
    axis: Axis = None,
    method: str = "linear",
    keepdims: bool = False,
) -> LayerTensor:
    if isinstance(q, LayerTensor):
        raise b.refuse("its percentage is computed")
    return _quantiles(b, x, np.float32(q) / np.float32(100), axis, method, keepdims)


@layer("ops.Quantile")
def quantile(
    b: LayerBuilder,
    x: LayerTensor,
    q: Any,
    *,
    axis: Axis = None,
    method: str = "linear",
    keepdims: bool = False,
) -> LayerTensor:
    """Keras up to 3.15 stores the method and computes the linear one in any case."""
    if isinstance(q, LayerTensor):
        raise b.refuse("its fraction is computed")
    return _quantiles(b, x, q if isinstance(q, np.ndarray) else np.float32(q), axis, "linear", keepdims)


def _quantiles(
    b: LayerBuilder, x: LayerTensor, q: Any, axis: Axis, method: str, keepdims: bool
) -> LayerTensor:
    """The elements below which parts of all lie; several parts make a first axis."""
    fraction = np.asarray(q, np.float64)
    x, axes, rank = as_floating(b, x), axes_of(x, axis), x.rank
    others = [i for i in range(rank) if i not in axes]
    moved = transpose(b, x, others + axes)
    rows = reshape(b, moved, (*sizes(b, moved)[: len(others)], None))
    known = [x.shape[i] for i in axes]
    length = None if None in known else math.prod(size or 0 for size in known)
    rows = b.tensor(rows.value, (*(x.shape[i] for i in others), length))
    result = _at(b, ascending(b, rows), fraction, method)
    missing = reduce(b, "Any", b.IsNan(rows), [-1])
    nothing = b.ZerosLike(b.cast(missing, x.dtype))
    unknown = b.tensor(b.node("Select", missing, b.Add(nothing, math.nan), nothing), missing.shape)
    result = b.Add(result, expand_dims(b, unknown, -1) if fraction.ndim else unknown)
    for place in sorted(axes) if keepdims else ():
        result = expand_dims(b, result, place)
    last = result.rank - 1
    return transpose(b, result, [last, *range(last)]) if fraction.ndim else result


def _at(b: LayerBuilder, ordered: LayerTensor, fraction: Any, method: str) -> LayerTensor:
    """The elements of the last axis at a part of its length, or between two of them."""
    size = sizes(b, ordered)[-1]
    last = b.constant(size - 1) if isinstance(size, int) else b.Sub(size, 1)
    exact = b.Mul(b.cast(last, _FLOAT64), b.constant(fraction, _FLOAT64))

    def element(place: LayerTensor) -> LayerTensor:
        return gather(b, ordered, b.Maximum(b.Minimum(b.cast(place, INT32), last), 0), -1)

    if method == "lower":
        return element(b.Floor(exact))
    if method == "higher":
        return element(b.Ceil(exact))
    if method == "nearest":
        return element(b.Round(exact))
    if method == "midpoint":
        return b.Mul(b.Add(element(b.Floor(exact)), element(b.Ceil(exact))), 0.5)
    if method != "linear":
        raise b.refuse(f"its method `{method}` is unknown")
    lower = b.Maximum(b.Sub(b.Minimum(b.cast(b.Ceil(exact), INT32), last), 1), 0)
    upper = b.Minimum(b.Add(lower, 1), last)
    share = b.cast(b.Sub(b.cast(upper, _FLOAT64), exact), ordered.dtype)
    return b.Add(b.Mul(element(upper), b.Sub(b.OnesLike(share), share)), b.Mul(element(lower), share))
