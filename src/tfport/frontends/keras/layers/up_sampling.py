"""UpSampling: repeated or interpolated elements."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras.arrays import scaled, sizes
from tfport.frontends.keras.data_format import CHANNELS_FIRST, channels_last, per_axis, spatial_axes
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.rearranging import repeated
from tfport.frontends.keras.resize import resize
from tfport.frontends.keras.tensor import LayerTensor


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
        target = scaled(b, height, rows), scaled(b, width, columns)
        centers = interpolation != "nearest" and _has_half_pixel_centers(b)  # no difference for whole factors
        return resize(b, images, *target, interpolation, half_pixel_centers=centers)

    return channels_last(b, data_format, x, resized).with_mask(None)


def _has_half_pixel_centers(b: LayerBuilder) -> bool:
    """Keras without TensorFlow's own copy (up to 2.3) measures from the corners of pixels."""
    return b.version.is_tensorflow or b.version.numbers >= (2, 4)
