"""Functions on images, and in windows: resizing, pooling, convolution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tf_function
from tfport.frontends.keras.resize import resize
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import convolve, pool
from tfport.graph.building.arrays import expand_dims, squeeze


@tf_function("image.resize")
def image_resize(
    b: LayerBuilder,
    images: LayerTensor,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
) -> LayerTensor:
    if preserve_aspect_ratio or isinstance(size, LayerTensor):
        raise b.refuse("it resizes images to a computed size, which tfport does not do")
    height, width = size
    batch = expand_dims(b, images, 0) if images.rank == 3 else images
    result = resize(b, batch, height, width, method, antialias=antialias)
    return squeeze(b, result, 0) if images.rank == 3 else result


def _pooling(op: str) -> Callable[..., LayerTensor]:
    def function(
        b: LayerBuilder,
        input: LayerTensor,
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str | None = None,
    ) -> LayerTensor:
        _check(b, padding, data_format)
        return pool(b, op, input, _spatial(input, ksize), _spatial(input, strides), padding.lower())

    return function


tf_function("nn.max_pool2d nn.max_pool")(_pooling("MaxPool"))
tf_function("nn.avg_pool2d nn.avg_pool")(_pooling("AvgPool"))


@tf_function("nn.conv2d nn.convolution")
def conv2d(
    b: LayerBuilder,
    input: LayerTensor,
    filters: Any,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
) -> LayerTensor:
    _check(b, padding, data_format)
    kernel = filters if isinstance(filters, LayerTensor) else b.constant(filters, input.dtype)
    steps, spread = (_spatial(input, value or 1) for value in (strides, dilations))
    return convolve(b, input, kernel, steps, padding.lower(), spread)


def _check(b: LayerBuilder, padding: Any, data_format: str | None) -> None:
    if not isinstance(padding, str) or (data_format or "N").startswith("NC"):
        raise b.refuse("it pads explicitly or has the channels first, which tfport does not do here")


def _spatial(x: LayerTensor, value: Any) -> list[int]:
    """A number for each spatial axis: one for all, one for each, or one for each axis of the tensor."""
    numbers = [value] if isinstance(value, int) else list(value)
    if len(numbers) == x.rank:
        return numbers[1:-1]
    return numbers * (x.rank - 2) if len(numbers) == 1 else numbers
