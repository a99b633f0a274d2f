"""Images in both layouts: layers compute with the channels last, which every processor can.

`channels_last(b, data_format, x, function)` moves the channels of a `channels_first` tensor to the end for
a function and back after it. `per_axis` reads options that are one number or one per spatial axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import transpose

CHANNELS_FIRST = "channels_first"


def channels_last(
    b: LayerBuilder, data_format: str | None, x: LayerTensor, function: Callable[[LayerTensor], LayerTensor]
) -> LayerTensor:
    """Apply a function on channels-last tensors to a tensor in either layout."""
    if data_format != CHANNELS_FIRST:
        return function(x)
    y = function(transpose(b, x, (0, *range(2, x.rank), 1)))
    return transpose(b, y, (0, y.rank - 1, *range(1, y.rank - 1)))


def spatial_axes(data_format: str | None, rank: int) -> range:
    """The axes between batch and channels."""
    return range(2, rank) if data_format == CHANNELS_FIRST else range(1, rank - 1)


def spatial_rank(b: LayerBuilder) -> int:
    """How many spatial axes a layer has, by its class: 2 for `Conv2D`."""
    digit = re.search(r"(\d)D", b.instance.config.class_name)
    if digit is None:
        raise b.refuse("its number of spatial axes is not part of its class name")
    return int(digit[1])


def per_axis(b: LayerBuilder, value: Json, count: int) -> tuple[int, ...]:
    """An option as one number for each spatial axis."""
    numbers = [value] * count if isinstance(value, int) else value
    if not isinstance(numbers, Sequence) or len(numbers) != count or not all(type(n) is int for n in numbers):
        raise b.refuse(f"expected {count} whole numbers, found {value!r}")
    return tuple(numbers)


def pairs_per_axis(b: LayerBuilder, value: Json, count: int) -> list[tuple[int, int]]:
    """An option as a pair of numbers, before and after, for each spatial axis."""
    if isinstance(value, int):
        return [(value, value)] * count
    entries = [value] if count == 1 and isinstance(value, list | tuple) and len(value) == 2 else value
    if not isinstance(entries, list | tuple) or len(entries) != count:
        raise b.refuse(f"expected {count} numbers or pairs, found {value!r}")
    pairs = (per_axis(b, entry, 2) for entry in entries)
    return [(before, after) for before, after in pairs]
