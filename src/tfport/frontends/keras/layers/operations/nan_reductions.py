"""Operations over axes that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.operations.elementwise import nan_to_num
from tfport.frontends.keras.layers.operations.linear_algebra import summed_type
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.rearranging import cumulative
from tfport.frontends.keras.reductions import Axis, arg_extreme, reduced
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import select
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, DType


def _without_nan(b: LayerBuilder, x: LayerTensor, instead: float) -> LayerTensor:
    return select(b, b.IsNan(x), b.Add(b.ZerosLike(x), instead), x) if x.dtype.is_floating else x


@layer("ops.Nansum")
def nan_sum(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return reduced(b, "Sum", b.cast(_without_nan(b, x, 0.0), summed_type(x.dtype)), axis, keepdims)


@layer("ops.Nanprod")
def nan_product(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return reduced(b, "Prod", b.cast(_without_nan(b, x, 1.0), summed_type(x.dtype)), axis, keepdims)


@layer("ops.Nanmean")
def nan_mean(b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    if not x.dtype.is_floating:
        return reduced(b, "Mean", b.cast(x, FLOAT32), axis, keepdims)
    total = reduced(b, "Sum", _without_nan(b, x, 0.0), axis, keepdims)
    return b.RealDiv(total, reduced(b, "Sum", _counted(b, x), axis, keepdims))


def _counted(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """1 where an element is no NaN."""
    return b.cast(b.LogicalNot(b.IsNan(x)), x.dtype)


@layer("ops.Nanvar")
def nan_variance(
    b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False
) -> LayerTensor:
    x = as_floating(b, x)
    centered = b.Sub(x, nan_mean(b, x, axis=axis, keepdims=True))
    squares = select(b, b.IsNan(x), b.ZerosLike(x), b.Square(centered))
    total = reduced(b, "Sum", squares, axis, keepdims)
    return b.RealDiv(total, reduced(b, "Sum", _counted(b, x), axis, keepdims))


@layer("ops.Nanstd")
def nan_deviation(
    b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False
) -> LayerTensor:
    return b.Sqrt(nan_variance(b, x, axis=axis, keepdims=keepdims))


def _extreme(op: str, logical: str, lowest: float) -> Callable[..., LayerTensor]:
    def operation(
        b: LayerBuilder, x: LayerTensor, *, axis: Axis = None, keepdims: bool = False
    ) -> LayerTensor:
        if not x.dtype.is_floating:
            return reduced(b, logical if x.dtype == BOOL else op, x, axis, keepdims)
        result = reduced(b, op, _without_nan(b, x, lowest), axis, keepdims)
        nothing = reduced(b, "All", b.IsNan(x), axis, keepdims)
        return select(b, nothing, b.Add(b.ZerosLike(result), math.nan), result)

    return operation


layer("ops.Nanmax")(_extreme("Max", "Any", -math.inf))
layer("ops.Nanmin")(_extreme("Min", "All", math.inf))


def _arg_extreme(op: str, lowest: float) -> Callable[..., LayerTensor]:
    def operation(
        b: LayerBuilder, x: LayerTensor, *, axis: int | None = None, keepdims: bool = False
    ) -> LayerTensor:
        index = arg_extreme(b, op, _without_nan(b, x, lowest), axis, keepdims, INT32)
        if not x.dtype.is_floating:
            return index
        nothing = reduced(b, "All", b.IsNan(x), axis, keepdims)
        return select(b, nothing, b.Sub(b.ZerosLike(index), 1), index)

    return operation


layer("ops.Nanargmax")(_arg_extreme("ArgMax", -math.inf))
layer("ops.Nanargmin")(_arg_extreme("ArgMin", math.inf))


@layer("ops.Nancumsum ops.Nancumprod")
def nan_cumulative(
    b: LayerBuilder, x: LayerTensor, *, axis: int | None = None, dtype: str | None = None
) -> LayerTensor:
    """Infinities count as the largest numbers of the type."""
    op = b.instance.config.class_name.removeprefix("Nan").capitalize()
    x = nan_to_num(b, x, nan=1.0 if op == "Cumprod" else 0.0)
    x = b.cast(x, DType.parse(dtype)) if dtype else x
    return cumulative(b, op, b.cast(x, INT32) if x.dtype == BOOL else x, axis)
