"""Resizing, cropping and scaling of images; layers that change images at random in training only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfport.formats.keras.records import Json
from tfport.frontends.keras.data_format import channels_last
from tfport.frontends.keras.indexing import Range, get_item
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.aspect_ratio import covering_size, cropped_to_ratio, padded_to_ratio
from tfport.frontends.keras.resize import resize
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, slice_axis, squeeze
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import FLOAT32


@layer("Rescaling", keeps_mask=True)
def rescaling(b: LayerBuilder, x: LayerTensor, *, scale: Json, offset: Json = 0.0) -> LayerTensor:
    x = b.cast(x, b.dtype)
    return b.Add(b.Mul(x, _numbers(b, scale)), _numbers(b, offset))


def _numbers(b: LayerBuilder, value: Json) -> LayerTensor:
    """A number, a list of numbers, or an array as Keras 3 stores it."""
    if isinstance(value, dict):
        value = value.get("config", {}).get("value")
    return b.constant(np.asarray(value, np.float64), b.dtype)


@layer("Resizing")
def resizing(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    height: int,
    width: int,
    interpolation: str = "bilinear",
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    antialias: bool = False,
    data_format: str | None = None,
    bounding_box_format: Json = None,
) -> LayerTensor:
    def resized(images: LayerTensor) -> LayerTensor:
        if crop_to_aspect_ratio:
            images = cropped_to_ratio(b, images, height, width)
        elif pad_to_aspect_ratio:
            if fill_mode != "constant":
                raise b.refuse(f"it pads in the mode `{fill_mode}`, which tfport does not do")
            images = padded_to_ratio(b, images, height, width, fill_value)
        return resize(b, images, height, width, interpolation.lower(), antialias=antialias)

    return _of_batch(b, data_format, b.cast(x, b.dtype), resized)


@layer("CenterCrop")
def center_crop(
    b: LayerBuilder, x: LayerTensor, *, height: int, width: int, data_format: str | None = None
) -> LayerTensor:
    def cropped(images: LayerTensor) -> LayerTensor:
        _, rows, columns, _ = sizes(b, images)
        if (isinstance(rows, int) and rows < height) or (isinstance(columns, int) and columns < width):
            if b.version.numbers < (2, 7):
                raise b.refuse("the images are smaller than the crop, which Keras before 2.7 does not accept")
            return resize(b, cropped_to_ratio(b, images, height, width), height, width, "bilinear")
        return _middle(b, _middle(b, images, 1, rows, height), 2, columns, width)

    return _of_batch(b, data_format, b.cast(x, b.dtype), cropped)


def _middle(
    b: LayerBuilder, images: LayerTensor, axis: int, size: int | LayerTensor, length: int
) -> LayerTensor:
    """The middle of an axis; of an axis of unknown size, which is taken to be long enough."""
    if isinstance(size, int):
        start = (size - length) // 2
        return slice_axis(b, images, axis, start, start + length)
    begin = b.FloorDiv(b.Sub(size, length), 2)
    part = get_item(b, images, [*[Range()] * axis, Range(begin, b.Add(begin, length))])
    return b.tensor(part.value, (*part.shape[:axis], length, *part.shape[axis + 1 :]))


@layer("RandomCrop", casts_inputs=False)
def random_crop(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    height: int,
    width: int,
    seed: Json = None,
    data_format: str | None = None,
) -> LayerTensor:
    """Without training it resizes the largest part in the middle with the ratio of the target.

    Keras before 2.7 resizes first and cuts the middle then, in float32; Keras 2.7 keeps the type of its
    input. Keras 3.6 and 3.7 cut the target size where that part begins; later releases do nothing.
    """
    numbers = b.version.numbers
    if numbers >= (3, 8):
        return b.cast(x, b.dtype)

    def resized(images: LayerTensor) -> LayerTensor:
        if numbers < (2, 7):
            return _covering_middle(b, b.cast(images, FLOAT32), height, width)
        if numbers >= (3, 6):
            return _cut_at_ratio(b, images, height, width)
        part = b.cast(cropped_to_ratio(b, images, height, width), FLOAT32)
        return b.cast(resize(b, part, height, width, "bilinear"), images.dtype)

    keeps_type = (2, 7) <= numbers < (2, 8) or (numbers < (2, 7) and not x.dtype.is_floating)
    return _of_batch(b, data_format, x if keeps_type else b.cast(x, b.dtype), resized)


def _covering_middle(b: LayerBuilder, images: LayerTensor, height: int, width: int) -> LayerTensor:
    """The middle of the images in the smallest size that covers the target and keeps their ratio."""
    rows, columns = covering_size(b, images, height, width)
    full = resize(b, images, rows, columns, "bilinear")
    return _middle(b, _middle(b, full, 1, rows, height), 2, columns, width)


def _cut_at_ratio(b: LayerBuilder, images: LayerTensor, height: int, width: int) -> LayerTensor:
    rows, columns = images.shape[1:3]
    if rows is None or columns is None:
        raise b.refuse("it crops images of unknown size")
    top = (rows - max(1, min(rows, int(columns * height / width)))) // 2
    left = (columns - max(1, min(columns, int(rows * width / height)))) // 2
    part = slice_axis(b, slice_axis(b, images, 1, top, top + height), 2, left, left + width)
    return part if part.shape[1:3] == (height, width) else resize(b, part, height, width, "bilinear")


@layer(
    "RandomFlip RandomTranslation RandomRotation RandomZoom RandomContrast RandomBrightness RandomHeight"
    " RandomWidth RandomShear RandomHue RandomSaturation RandomColorDegeneration RandomColorJitter"
    " RandomGrayscale RandomInvert RandomPosterization RandomSharpness RandomPerspective RandomErasing"
    " RandomElasticTransform RandomGaussianBlur RandAugment AugMix CutMix MixUp Solarization"
)
def random_change(b: LayerBuilder, x: LayerTensor, **options: Json) -> LayerTensor:
    """Nothing changes without training, but the type."""
    return b.cast(x, b.dtype)


def _of_batch(
    b: LayerBuilder, data_format: str | None, x: LayerTensor, function: Callable[[LayerTensor], LayerTensor]
) -> LayerTensor:
    """Apply a function of a batch of images with the channels last; a single image is a batch of one."""
    if x.rank == 4:
        return channels_last(b, data_format, x, function)
    if x.rank != 3:
        raise b.refuse(f"it gets a tensor of rank {x.rank}; expected images")
    return squeeze(b, channels_last(b, data_format, expand_dims(b, x, 0), function), 0)
