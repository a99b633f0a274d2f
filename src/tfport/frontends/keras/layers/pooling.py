"""Pooling in windows, over everything, and to a size."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras.data_format import (
    CHANNELS_FIRST,
    channels_last,
    per_axis,
    spatial_axes,
    spatial_rank,
)
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import pool
from tfport.graph.building.arrays import concat, expand_dims, reduce, slice_axis


@layer(
    "MaxPooling1D MaxPooling2D MaxPooling3D MaxPool1D MaxPool2D MaxPool3D AveragePooling1D AveragePooling2D"
    " AveragePooling3D AvgPool1D AvgPool2D AvgPool3D"
)
def pooling(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    pool_size: Json = 2,
    strides: Json = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> LayerTensor:
    """The strides are the size of the window unless stated."""
    n = spatial_rank(b)
    window = per_axis(b, pool_size, n)
    steps = window if strides is None else per_axis(b, strides, n)
    op = "MaxPool" if b.instance.config.class_name.startswith("Max") else "AvgPool"
    return channels_last(b, data_format, x, lambda images: pool(b, op, images, window, steps, padding))


@layer(
    "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GlobalMaxPool1D GlobalMaxPool2D"
    " GlobalMaxPool3D GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool2D GlobalAvgPool3D"
)
def global_pooling(
    b: LayerBuilder, x: LayerTensor, *, data_format: str | None = None, keepdims: bool = False
) -> LayerTensor:
    op = "Max" if "Max" in b.instance.config.class_name else "Mean"
    return reduce(b, op, x, spatial_axes(data_format, x.rank), keep=keepdims)


@layer("GlobalAveragePooling1D GlobalAvgPool1D")
def global_average_pooling_1d(
    b: LayerBuilder, x: LayerTensor, *, data_format: str | None = None, keepdims: bool = False
) -> LayerTensor:
    """The mean over time of the steps that are not masked."""
    axis = 2 if data_format == CHANNELS_FIRST else 1
    if x.mask is None:
        return reduce(b, "Mean", x, [axis], keep=keepdims)
    counts = b.cast(expand_dims(b, x.mask, 3 - axis), x.dtype)
    total = reduce(b, "Sum", b.Mul(x, counts), [axis], keep=keepdims)
    return b.RealDiv(total, reduce(b, "Sum", counts, [axis], keep=keepdims))


@layer(
    "AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D AdaptiveAveragePooling1D"
    " AdaptiveAveragePooling2D AdaptiveAveragePooling3D ops.AdaptiveMaxPool ops.AdaptiveAveragePool"
)
def adaptive_pooling(
    b: LayerBuilder, x: LayerTensor, *, output_size: Json, data_format: str | None = None
) -> LayerTensor:
    """As many windows as asked for; they cover the axis and overlap where its size is not a multiple."""
    op = "Max" if "Max" in b.instance.config.class_name else "Mean"
    axes = spatial_axes(data_format, x.rank)
    for axis, count in zip(axes, per_axis(b, output_size, len(axes)), strict=True):
        size = x.shape[axis]
        if size is None:
            raise b.refuse("adaptive pooling of an axis whose size is unknown")
        windows = ((i * size // count, -(-(i + 1) * size // count)) for i in range(count))
        parts = [slice_axis(b, x, axis, start, stop) for start, stop in windows]
        x = concat(b, [reduce(b, op, part, [axis], keep=True) for part in parts], axis)
    return x
