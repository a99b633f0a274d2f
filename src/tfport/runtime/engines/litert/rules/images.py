"""Images of TensorFlow Lite, with four axes and the channels last, from ONNX's images or rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.engines.litert.island_value import IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe


def image_sizes(x: IslandValue) -> tuple[int, int, int]:
    """Height, width and channels; rows are images of one row."""
    match x.sizes:
        case (_, channels, width):
            return 1, width, channels
        case (_, channels, height, width):
            return height, width, channels
    raise NotInLite(f"an image with {len(x.sizes)} axes")


def image_of(out: LiteScribe, x: IslandValue) -> int:
    tensor = out.in_order(x, channels_last(x.sizes))
    if len(x.sizes) == 4:
        return tensor
    return out.reshaped(tensor, (x.sizes[0], *image_sizes(x))).tensor


def result_of(
    out: LiteScribe,
    x: IslandValue,
    op: str,
    inputs: Sequence[int],
    sizes: tuple[int, int, int],
    **options: Any,
) -> IslandValue:
    """An operator on images, with the height, width and channels of its result; rows for rows."""
    height, width, channels = sizes
    image = out.add(op, inputs, (x.sizes[0], channels, height, width), (0, 2, 3, 1), **options)
    if len(x.sizes) == 4:
        return image
    return out.reshaped(image.tensor, (x.sizes[0], channels, width), (0, 2, 1))


def zeros_around(
    out: LiteScribe, image: int, sizes: Sequence[int], pads: tuple[tuple[int, int], tuple[int, int]]
) -> int:
    """An image with zeros around it."""
    batch, height, width, channels = sizes
    padded = (batch, height + sum(pads[0]), width + sum(pads[1]), channels)
    return out.add("PAD", [image, out.pairs([(0, 0), *pads, (0, 0)])], padded).tensor
