"""Where the samples of a resized image come from: shared by the resizes, their gradients and their relatives.

Places and weights are computed in float32 step by step, as TensorFlow does: the same
arithmetic in double precision picks other pixels at some sizes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfport.errors import RunFailed

Floats = NDArray[np.float32]
ONE, HALF = np.float32(1), np.float32(0.5)
LARGEST = 2**31


class Taps(NamedTuple):
    """For each place of the output: the places of the input that it mixes, and their weights."""

    at: NDArray[np.int64]
    weights: Floats


def checked_size(images: NDArray[Any], size: NDArray[Any]) -> tuple[int, int]:
    """The height and width that are asked for; what TensorFlow refuses is refused."""
    if images.ndim != 4:
        raise RunFailed(f"images must have 4 dimensions, and have the shape {list(images.shape)}")
    if size.shape != (2,):
        raise RunFailed(f"size must be two numbers, and has the shape {list(size.shape)}")
    height, width = int(size[0]), int(size[1])
    if height <= 0 or width <= 0:
        raise RunFailed(f"the size to resize to must be positive, and is {height} x {width}")
    if 0 in images.shape[1:]:
        raise RunFailed(f"images have no pixels or channels: their shape is {list(images.shape)}")
    if images.shape[0] * height * width * images.shape[3] >= LARGEST * 8:
        raise RunFailed(f"{height} x {width} is too large to resize to")
    return height, width


def scale_of(given: int, wanted: int, align_corners: bool) -> np.float32:
    """How many pixels of the input one of the output stands for."""
    if align_corners and wanted > 1:
        return np.float32(given - 1) / np.float32(wanted - 1)
    return np.float32(given) / np.float32(wanted)


def places(wanted: int, scale: np.float32, half_pixel_centers: bool) -> Floats:
    """Where the pixels of the output lie in the input."""
    at = np.arange(wanted).astype(np.float32)
    return (at + HALF) * scale - HALF if half_pixel_centers else at * scale


def nearest(given: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    scale = scale_of(given, wanted, align_corners)
    at = np.arange(wanted).astype(np.float32)
    where = (at + HALF) * scale if half_pixel_centers else at * scale
    picked = round_away(where) if align_corners else np.floor(where)
    return np.clip(picked.astype(np.int64), 0 if half_pixel_centers else None, given - 1)


def round_away(x: Any) -> Any:
    """To the nearest integer, halves away from zero, as roundf does."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= HALF, np.sign(x), 0)


def linear(given: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Any, Any, Floats]:
    """The lower and the upper neighbour of each pixel, and how far it lies from the lower."""
    where = places(wanted, scale_of(given, wanted, align_corners), half_pixel_centers)
    floor = np.floor(where)
    lower = np.clip(floor.astype(np.int64), 0, given - 1)
    upper = np.clip(np.ceil(where).astype(np.int64), 0, given - 1)
    return lower, upper, where - floor


TABLE = 1024
"""TensorFlow takes cubic weights from a table of this many steps between two pixels."""


def _cubic_table(a: float) -> Floats:
    x = np.arange(TABLE + 1) / TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.stack([near, far], -1).astype(np.float32)


def cubic(given: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Four neighbours; with half-pixel centres those outside do not count, otherwise the edge repeats."""
    where = places(wanted, scale_of(given, wanted, align_corners), half_pixel_centers)
    floor = np.floor(where)
    step = np.rint((where - floor) * np.float32(TABLE)).astype(np.int64)
    table = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    weights = np.stack(
        [table[step, 1], table[step, 0], table[TABLE - step, 0], table[TABLE - step, 1]], axis=-1
    )
    asked = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    at = np.clip(asked, 0, given - 1)
    if half_pixel_centers:
        weights = np.where(at == asked, weights, np.float32(0))
        total = weights.sum(-1, keepdims=True, dtype=np.float32)
        weights = np.where(np.abs(total) >= 1000 * np.finfo(np.float32).tiny, weights / total, weights)
    return Taps(at, weights.astype(np.float32))


def area(given: int, wanted: int, align_corners: bool) -> tuple[Taps, np.float32]:
    """The pixels that the area of an output pixel covers, how much of each, and the length of that area."""
    scale = scale_of(given, wanted, align_corners) or ONE  # 0 where the corners of one pixel are aligned
    at = np.arange(wanted).astype(np.float32)
    start, end = at * scale, (at + ONE) * scale
    first, last = np.floor(start).astype(np.int64), np.ceil(end).astype(np.int64)
    i = first[:, None] + np.arange(max(int((last - first).max()), 1))
    below = np.float32(i)
    covered = np.where(
        below < start[:, None],
        np.where(below + 1 > end[:, None], scale, below + 1 - start[:, None]),
        np.where(below + 1 > end[:, None], end[:, None] - below, ONE),
    )
    covered = np.where(i < last[:, None], covered, 0).astype(np.float32)
    return Taps(np.clip(i, 0, given - 1), covered), scale


def mix(images: Any, rows: Taps, columns: Taps) -> Any:
    """Images of float32 with each output pixel mixed from its taps, along both axes."""
    wide = _mix_axis(images, columns, 2)
    return _mix_axis(wide, rows, 1)


def _mix_axis(x: Any, taps: Taps, axis: int) -> Any:
    shape = [1] * x.ndim
    shape[axis] = -1
    total = None
    for k in range(taps.at.shape[1]):
        part = np.take(x, taps.at[:, k], axis) * taps.weights[:, k].reshape(shape)
        total = part if total is None else total + part
    return total


def spread(grads: Any, taps: Taps, axis: int, given: int) -> Any:
    """The transpose of mixing along an axis: gradients of the output back to the input's places."""
    moved = np.moveaxis(grads, axis, 0)
    out = np.zeros((given, *moved.shape[1:]), moved.dtype)
    shape = (-1,) + (1,) * (moved.ndim - 1)
    for k in range(taps.at.shape[1]):
        np.add.at(out, taps.at[:, k], moved * taps.weights[:, k].astype(moved.dtype).reshape(shape))
    return np.moveaxis(out, 0, axis)
