"""Operations over axes: sums, means, extremes, sorting, quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating, promoted
from tfport.frontends.keras.rearranging import cumulative
from tfport.frontends.keras.reductions import (
    Axis,
    arg_extreme,
    axes_of,
    log_sum_exp,
    over_last_axis,
    reduced,
    variance,
)
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, gather, reduce, reshape, transpose
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import BOOL, INT32, DType


def _reduction(op: str, *, floating: bool = False, logical: bool = False) -> Callable[..., LayerTensor]:
    def operation(
        b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False
    ) -> LayerTensor:
        if logical:
            x = b.cast(x, BOOL)
        elif x.dtype == BOOL:
            x = b.cast(x, INT32)
        (x,) = promoted(b, x, floating=floating)
        return reduced(b, op, x, axis, keepdims)

    return operation


for _names, _function in (
    ("ops.Sum", _reduction("Sum")),
    ("ops.Mean", _reduction("Mean", floating=True)),
    ("ops.Amax", _reduction("Max")),
    ("ops.Amin", _reduction("Min")),
    ("ops.All", _reduction("All", logical=True)),
    ("ops.Any", _reduction("Any", logical=True)),
):
    layer(_names)(_function)


@layer("ops.Max ops.Min")
def extreme(
    b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False, initial: Any = None
) -> LayerTensor:
    op = b.instance.config.class_name
    result = reduced(b, op, x, axis, keepdims)
    return result if initial is None else b.result(f"{op}imum", result, initial)


@layer("ops.Prod")
def product(
    b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False, dtype: str | None = None
) -> LayerTensor:
    x = b.cast(x, INT32) if x.dtype == BOOL else x
    return reduced(b, "Prod", b.cast(x, DType.parse(dtype)) if dtype else x, axis, keepdims)


@layer("ops.Var")
def var(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return variance(b, promoted(b, x, floating=True)[0], axis, keepdims)


@layer("ops.Std")
def std(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return b.Sqrt(variance(b, promoted(b, x, floating=True)[0], axis, keepdims))


@layer("ops.Logsumexp")
def logsumexp(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return log_sum_exp(b, promoted(b, x, floating=True)[0], axis, keepdims)


@layer("ops.Average")
def average(
    b: LayerBuilder, x: LayerTensor, weights: LayerTensor | None = None, *, axis: Axis = None
) -> LayerTensor:
    if weights is None:
        return reduced(b, "Mean", promoted(b, x, floating=True)[0], axis, False)
    if weights.rank != x.rank:
        raise b.refuse("its weights have a different rank than the averaged tensor")
    x, weights = promoted(b, x, weights, floating=True)
    total = reduced(b, "Sum", b.Mul(x, weights), axis, False)
    return b.RealDiv(total, reduced(b, "Sum", weights, axis, False))


@layer("ops.CountNonzero")
def count_nonzero(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None) -> LayerTensor:
    return reduced(b, "Sum", b.cast(b.cast(x, BOOL), INT32), axis, False)


@layer("ops.Ptp")
def spread(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return b.Sub(reduced(b, "Max", x, axis, keepdims), reduced(b, "Min", x, axis, keepdims))


@layer("ops.Argmax ops.Argmin")
def position_of_extreme(
    b: LayerBuilder, x: LayerTensor, *, axis: int | None = None, keepdims: bool = False
) -> LayerTensor:
    op = "ArgMax" if b.instance.config.class_name == "Argmax" else "ArgMin"
    return arg_extreme(b, op, x, axis, keepdims, INT32)


@layer("ops.Norm")
def norm(
    b: LayerBuilder, x: LayerTensor, *, ord: Any = None, axis: Axis = None, keepdims: bool = False
) -> LayerTensor:
    x = promoted(b, x, floating=True)[0]
    axes = axes_of(x, axis)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return b.Sqrt(reduced(b, "Sum", b.Square(x), axes, keepdims))
    if len(axes) == 2:
        return _matrix_norm(b, x, ord, axes, keepdims)
    if len(axes) != 1:
        raise b.refuse(f"it computes the norm `{ord}` over {len(axes)} axes")
    size = b.Abs(x)
    if ord in (math.inf, "inf"):
        return reduced(b, "Max", size, axes, keepdims)
    if ord in (-math.inf, "-inf"):
        return reduced(b, "Min", size, axes, keepdims)
    if ord == 0:
        return reduced(b, "Sum", b.cast(b.NotEqual(x, 0.0), x.dtype), axes, keepdims)
    if ord == 1:
        return reduced(b, "Sum", size, axes, keepdims)
    return b.Pow(reduced(b, "Sum", b.Pow(size, float(ord)), axes, keepdims), 1.0 / ord)


def _matrix_norm(b: LayerBuilder, x: LayerTensor, ord: Any, axes: list[int], keepdims: bool) -> LayerTensor:
    """Norms of the matrices in two axes: of their rows, their columns or their singular values."""
    rows = transpose(b, x, [i for i in range(x.rank) if i not in axes] + axes)
    if ord in ("nuc", 2, -2):
        node = b.node("Svd", rows, compute_uv=False)
        known = [size for size in rows.shape[-2:] if size is not None]
        values = b.tensor(node, (*rows.shape[:-2], min(known) if len(known) == 2 else None))
        result = reduced(b, {"nuc": "Sum", 2: "Max", -2: "Min"}[ord], values, -1, False)
    elif ord in (1, -1, math.inf, -math.inf, "inf", "-inf"):
        sums = reduced(b, "Sum", b.Abs(rows), -2 if ord in (1, -1) else -1, False)
        result = reduced(b, "Max" if ord in (1, math.inf, "inf") else "Min", sums, -1, False)
    else:
        raise b.refuse(f"it computes the norm `{ord}` of matrices, which is unknown")
    for axis in sorted(axes) if keepdims else ():
        result = expand_dims(b, result, axis)
    return result


@layer("ops.Cumsum ops.Cumprod")
def running(
    b: LayerBuilder, x: LayerTensor, *, axis: int | None = None, dtype: str | None = None
) -> LayerTensor:
    x = b.cast(x, INT32) if x.dtype == BOOL else x
    return cumulative(b, b.instance.config.class_name, b.cast(x, DType.parse(dtype)) if dtype else x, axis)


@layer("ops.TopK")
def top_k(b: LayerBuilder, x: LayerTensor, *, k: int, sorted: bool = True) -> Sequence[LayerTensor]:
    return b.results(b.node("TopKV2", x, k, sorted=sorted))


def ascending(b: LayerBuilder, x: LayerTensor, output: int = 0) -> LayerTensor:
    """The elements of the last axis in rising order, or their positions (output 1)."""
    node = b.node("TopKV2", b.Neg(x), sizes(b, x)[-1])
    ranked = b.tensor(node.output(output), x.shape)
    return b.Neg(ranked) if output == 0 else ranked


@layer("ops.Sort")
def sort(b: LayerBuilder, x: LayerTensor, *, axis: int = -1) -> LayerTensor:
    return over_last_axis(b, x, axis, lambda rows: ascending(b, rows))


@layer("ops.Argsort")
def argsort(b: LayerBuilder, x: LayerTensor, *, axis: int = -1) -> LayerTensor:
    return over_last_axis(b, x, axis, lambda rows: ascending(b, rows, 1))


# Medians, quantiles and percentiles

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
    unknown = b.Select(missing, b.Add(nothing, math.nan), nothing)
    result = b.Add(result, expand_dims(b, unknown, -1) if fraction.ndim else unknown)
    for index in sorted(axes) if keepdims else ():
        result = expand_dims(b, result, index)
    last = result.rank - 1
    return transpose(b, result, [last, *range(last)]) if fraction.ndim else result


def _at(b: LayerBuilder, ordered: LayerTensor, fraction: Any, method: str) -> LayerTensor:
    """The elements of the last axis at a part of its length, or between two of them."""
    size = sizes(b, ordered)[-1]
    last = b.constant(size - 1) if isinstance(size, int) else b.Sub(size, 1)
    exact = b.Mul(b.cast(last, _FLOAT64), b.constant(fraction, _FLOAT64))

    def element(position: LayerTensor) -> LayerTensor:
        return gather(b, ordered, b.Maximum(b.Minimum(b.cast(position, INT32), last), 0), -1)

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
