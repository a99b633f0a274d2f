"""Data layouts, padding and sliding windows of convolutions and poolings.

Kernels compute with channels last; `DataLayout.to_channels_last` and `from_channels_last` convert.
A tap is one position inside a window. `Windows.slices(tap)` selects the elements of the padded array
that all windows have at that tap, so that a kernel loops over taps and not over pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class DataLayout:
    """The axes of a data format such as NHWC or NCDHW."""

    format: str

    @property
    def rank(self) -> int:
        return len(self.format)

    @property
    def channel_axis(self) -> int:
        return self.format.index("C")

    @property
    def spatial_axes(self) -> tuple[int, ...]:
        return tuple(i for i, letter in enumerate(self.format) if letter not in "NC")

    def spatial_values(self, values: Sequence[int], what: str = "strides") -> tuple[int, ...]:
        """The values of the spatial axes, of an attribute with a value for each axis."""
        if len(values) != self.rank:
            raise RunFailed(f"expected {self.rank} {what}, found {len(values)}")
        if values[0] != 1 or values[self.channel_axis] != 1:
            raise RunFailed(f"{what} must be 1 for batch and channels, found {list(values)}")
        spatial = tuple(int(values[i]) for i in self.spatial_axes)
        if min(spatial) < 1:
            raise RunFailed(f"{what} must be positive, found {list(values)}")
        return spatial

    @property
    def channels_last_order(self) -> tuple[int, ...]:
        """The permutation that moves the channels to the end."""
        return (0, *self.spatial_axes, self.channel_axis)

    def to_channels_last(self, array: Any) -> Any:
        if array.ndim != self.rank:
            raise RunFailed(f"the input must have {self.rank} axes, found {array.ndim}")
        return np.transpose(array, self.channels_last_order)

    def from_channels_last(self, array: Any) -> Any:
        return np.transpose(array, np.argsort(self.channels_last_order))


@dataclass(frozen=True)
class Windows:
    """Sliding windows: sizes, strides, padding and number of windows along each spatial axis."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    count: tuple[int, ...]

    def taps(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*map(range, self.kernel))

    def slices(self, tap: Sequence[int]) -> tuple[slice, ...]:
        """The elements of all windows at a tap, in a padded array with batch first and channels last."""
        return (
            slice(None),
            *(
                slice(t * d, t * d + s * (n - 1) + 1 if n else t * d, s)
                for t, d, s, n in zip(tap, self.dilations, self.strides, self.count, strict=True)
            ),
        )

    def padded(self, array: Any, value: Any = 0) -> Any:
        if not any(map(any, self.pads)):
            return array
        return np.pad(array, ((0, 0), *self.pads, (0, 0)), constant_values=value)

    @property
    def padded_sizes(self) -> tuple[int, ...]:
        return tuple(n + p + q for n, (p, q) in zip(self.sizes, self.pads, strict=True))

    def without_padding(self, array: Any) -> Any:
        """A padded array without its padding."""
        spans = (slice(p, p + n) for n, (p, _) in zip(self.sizes, self.pads, strict=True))
        return array[(slice(None), *spans)]


def same_pads(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """SAME padding of an axis: ceil(size / stride) windows; an odd element of padding goes to the end."""
    count = -(-size // stride)
    total = max((count - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def windows(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
) -> Windows:
    """The windows over spatial sizes; RunFailed if they do not fit."""
    axes = list(zip(sizes, kernel, strides, dilations, strict=True))
    if padding == "SAME":
        pads = [same_pads(*axis) for axis in axes]
    elif padding == "VALID":
        pads = [(0, 0)] * len(axes)
    else:
        pads = list(explicit)
        if len(pads) != len(axes) or min(map(min, pads)) < 0:
            raise RunFailed(f"explicit padding must have two sizes of at least 0 for each axis, found {pads}")
    counts = []
    for (size, k, s, d), (before, after) in zip(axes, pads, strict=True):
        count = int((size + before + after - (k - 1) * d - 1 + s) / s)  # truncated as in C++, not floored
        if count < 0:
            raise RunFailed(
                f"Computed output size would be negative: {count} [input_size: {size}, "
                f"effective_filter_size: {(k - 1) * d + 1}, stride: {s}]"
            )
        counts.append(count)
    return Windows(tuple(sizes), tuple(kernel), tuple(strides), tuple(dilations), tuple(pads), tuple(counts))


def layout_windows(
    layout: DataLayout,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
) -> Windows:
    """The windows over spatial sizes, with strides and dilations for each axis of the layout."""
    steps, rates = layout.spatial_values(strides), layout.spatial_values(dilations, "dilations")
    return windows(sizes, kernel, steps, rates, padding, explicit)


def explicit_pads(layout: DataLayout, explicit_paddings: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of the spatial axes of attribute `explicit_paddings`, which has two numbers per axis."""
    if not explicit_paddings:
        return []
    if len(explicit_paddings) != 2 * layout.rank:
        raise RunFailed(f"expected {2 * layout.rank} explicit paddings, found {len(explicit_paddings)}")
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2], strict=True))
    if any(pairs[0]) or any(pairs[layout.channel_axis]):
        raise RunFailed(f"explicit padding of batch and channels must be 0, found {explicit_paddings}")
    return [pairs[i] for i in layout.spatial_axes]
