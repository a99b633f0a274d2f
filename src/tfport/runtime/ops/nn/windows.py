"""Windows that slide over spatial axes: which axes a layout has, how much padding, where each tap reads.

All kernels here compute with channels last; `Layout.last` and `Layout.back` turn an array
there and back. A tap is one place of a window: for each tap, `slices` says what part of the
padded array all windows see at it, so that a kernel loops over taps and never over pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.errors import RunFailed


@dataclass(frozen=True)
class Layout:
    """Where a data format like NHWC or NCDHW has its batch, channels and space."""

    text: str

    @property
    def channel(self) -> int:
        return self.text.index("C")

    @property
    def space(self) -> tuple[int, ...]:
        return tuple(i for i, letter in enumerate(self.text) if letter not in "NC")

    def spatial(self, values: Sequence[int], what: str = "strides") -> tuple[int, ...]:
        """The spatial ones of values for each axis; TensorFlow has no windows over batch or channels."""
        if len(values) != len(self.text):
            raise RunFailed(f"expected {len(self.text)} {what}, found {len(values)}")
        if values[0] != 1 or values[self.channel] != 1:
            raise RunFailed(f"{what} along batch or channels are not supported: {list(values)}")
        found = tuple(int(values[i]) for i in self.space)
        if min(found) < 1:
            raise RunFailed(f"{what} must be positive: {list(values)}")
        return found

    @property
    def to_last(self) -> tuple[int, ...]:
        """The permutation that brings the channels to the end."""
        return (0, *self.space, self.channel)

    @property
    def from_last(self) -> tuple[int, ...]:
        return tuple(self.to_last.index(i) for i in range(len(self.text)))

    def last(self, array: Any) -> Any:
        if array.ndim != len(self.text):
            raise RunFailed(f"the input must have {len(self.text)} axes, found {array.ndim}")
        return np.transpose(array, self.to_last)

    def back(self, array: Any) -> Any:
        return np.transpose(array, self.from_last)


@dataclass(frozen=True)
class Windows:
    """How windows of one size slide: along each spatial axis their number, and the padding around."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    count: tuple[int, ...]

    def taps(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*map(range, self.kernel))

    def slices(self, tap: Sequence[int]) -> tuple[slice, ...]:
        """What all windows see at one tap, of a padded array with batch first and channels last."""
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

    def inside(self, array: Any) -> Any:
        """What is left of a padded array without its padding."""
        spans = (slice(p, p + n) for n, (p, _) in zip(self.sizes, self.pads, strict=True))
        return array[(slice(None), *spans)]


def same_pads(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """The padding that TensorFlow calls SAME: as many windows as strides fit, the odd cell behind."""
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
    """The windows over spatial sizes; RunFailed where they do not fit."""
    each = list(zip(sizes, kernel, strides, dilations, strict=True))
    if padding == "SAME":
        pads = [same_pads(*one) for one in each]
    elif padding == "VALID":
        pads = [(0, 0)] * len(each)
    else:
        pads = list(explicit)
        if len(pads) != len(each) or min(map(min, pads)) < 0:
            raise RunFailed(f"explicit padding must have two sizes of at least 0 for each axis: {pads}")
    counts = []
    for (size, k, s, d), (before, after) in zip(each, pads, strict=True):
        count = int((size + before + after - (k - 1) * d - 1 + s) / s)  # cut, not floored, as in C++
        if count < 0:
            raise RunFailed(f"a window of {(k - 1) * d + 1} does not fit into {size + before + after}")
        counts.append(count)
    return Windows(tuple(sizes), tuple(kernel), tuple(strides), tuple(dilations), tuple(pads), tuple(counts))


def explicit_pads(layout: Layout, explicit_paddings: Sequence[int]) -> list[tuple[int, int]]:
    """The attribute `explicit_paddings`, two numbers for each axis, as pairs for the spatial ones."""
    if not explicit_paddings:
        return []
    if len(explicit_paddings) != 2 * len(layout.text):
        raise RunFailed(f"expected {2 * len(layout.text)} explicit paddings, found {len(explicit_paddings)}")
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2], strict=True))
    if any(pairs[0]) or any(pairs[layout.channel]):
        raise RunFailed("explicit padding of batch or channels is not supported")
    return [pairs[i] for i in layout.space]
