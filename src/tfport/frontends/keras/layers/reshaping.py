"""Layers that move, repeat, crop, pad or interpolate elements."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras.data_format import (
    CHANNELS_FIRST,
    channels_last,
    pairs_per_axis,
    per_axis,
    spatial_axes,
)
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.rearranging import repeated, tiled
from tfport.frontends.keras.resize import resize
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, pad, reshape, slice_axis, transpose
from tfport.graph.building.sizes import Sizes, sizes


@layer("Flatten")
def flatten(b: LayerBuilder, x: LayerTensor, *, data_format: str | None = None) -> LayerTensor:
    if x.rank == 1:
        return expand_dims(b, x, 1)
    if data_format == CHANNELS_FIRST:
        x = transpose(b, x, (0, *range(2, x.rank), 1))
    if None in x.shape[1:]:
        return reshape(b, x, (sizes(b, x)[0], None))
    length = 1
    for size in x.shape[1:]:
        length *= size or 0
    return reshape(b, x, (x.shape[0], length))


@layer("Reshape")
def reshape_layer(b: LayerBuilder, x: LayerTensor, *, target_shape: list[int]) -> LayerTensor:
    """Another shape behind the batch; one size may be -1."""
    dims = [None if size in (-1, None) else size for size in target_shape]
    if dims.count(None) > 1:
        raise b.refuse(f"its target shape {target_shape} has more than one unknown size")
    if None not in dims:
        return reshape(b, x, (x.shape[0], *dims))
    if None not in x.shape[1:]:
        known, total = 1, 1
        for size in dims:
            known *= size or 1
        for size in x.shape[1:]:
            total *= size or 0
        dims[dims.index(None)] = total // max(1, known)
        return reshape(b, x, (x.shape[0], *dims))
    return reshape(b, x, (sizes(b, x)[0], *dims))


@layer("Permute")
def permute(b: LayerBuilder, x: LayerTensor, *, dims: list[int]) -> LayerTensor:
    return transpose(b, x, (0, *dims))


@layer("RepeatVector")
def repeat_vector(b: LayerBuilder, x: LayerTensor, *, n: int) -> LayerTensor:
    return tiled(b, expand_dims(b, x, 1), (1, n, 1))


@layer("Cropping1D Cropping2D Cropping3D")
def cropping(
    b: LayerBuilder, x: LayerTensor, *, cropping: Json = 1, data_format: str | None = None
) -> LayerTensor:
    axes = spatial_axes(data_format, x.rank)
    for axis, (before, after) in zip(axes, pairs_per_axis(b, cropping, len(axes)), strict=True):
        size = x.shape[axis]
        if size is not None and before + after >= size:
            raise b.refuse(
                f"it removes {before} + {after} elements of axis {axis}, which has {size}: none remain"
            )
        if before or after:
            x = slice_axis(b, x, axis, before, -after if after else None)
    return x.with_mask(None)


@layer("ZeroPadding1D ZeroPadding2D ZeroPadding3D")
def zero_padding(
    b: LayerBuilder, x: LayerTensor, *, padding: Json = 1, data_format: str | None = None
) -> LayerTensor:
    axes = spatial_axes(data_format, x.rank)
    paddings = [(0, 0)] * x.rank
    for axis, pair in zip(axes, pairs_per_axis(b, padding, len(axes)), strict=True):
        paddings[axis] = pair
    return pad(b, x, paddings).with_mask(None)


@layer("UpSampling1D UpSampling3D")
def up_sampling(
    b: LayerBuilder, x: LayerTensor, *, size: Json = 2, data_format: str | None = None
) -> LayerTensor:
    """Repeat each element along the spatial axes."""
    axes = spatial_axes(data_format, x.rank)
    for axis, count in zip(axes, per_axis(b, size, len(axes)), strict=True):
        x = repeated(b, x, count, axis)
    return x.with_mask(None)


@layer("UpSampling2D")
def up_sampling_2d(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    size: Json = 2,
    data_format: str | None = None,
    interpolation: str = "nearest",
) -> LayerTensor:
    rows, columns = per_axis(b, size, 2)

    def resized(images: LayerTensor) -> LayerTensor:
        _, height, width, channels = sizes(b, images)
        if (
            data_format == CHANNELS_FIRST
            and interpolation != "nearest"
            and (3, 0) <= b.version.numbers < (3, 2)
        ):
            height, width = width, channels  # as these versions confuse the axes
        target = Sizes(b).mul(height, rows), Sizes(b).mul(width, columns)
        centers = interpolation != "nearest" and _has_half_pixel_centers(b)  # no difference for whole factors
        return resize(b, images, *target, interpolation, half_pixel_centers=centers)

    return channels_last(b, data_format, x, resized).with_mask(None)


def _has_half_pixel_centers(b: LayerBuilder) -> bool:
    """Keras without TensorFlow's own copy (up to 2.3) measures from the corners of pixels."""
    return b.version.is_tensorflow or b.version.numbers >= (2, 4)
