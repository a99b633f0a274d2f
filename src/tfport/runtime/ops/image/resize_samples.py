"""Sampling positions and weights of resized images, shared by the resizing ops and their gradients.

Positions and weights are computed in float32, operation by operation as in TensorFlow: double
precision selects other pixels at some sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"
ONE, HALF = np.float32(1), np.float32(0.5)
LARGEST = 2**31


class Taps(NamedTuple):
    """For each output position: the input positions that contribute to it, and their weights."""

    at: NDArray[np.int64]
    weights: Floats


def checked_size(images: NDArray[Any], size: NDArray[Any]) -> tuple[int, int]:
    """Validate `images` and `size` as TensorFlow does, and return the output height and width."""
    if images.ndim != 4:
        raise RunFailed(f"images must have 4 axes, found shape {list(images.shape)}")
    if size.shape != (2,):
        raise RunFailed(f"size must have 2 elements, found shape {list(size.shape)}")
    height, width = int(size[0]), int(size[1])
    if height <= 0 or width <= 0:
        raise RunFailed(f"size must be positive, found {height} x {width}")
    if 0 in images.shape[1:]:
        raise RunFailed(f"images must not be empty, found shape {list(images.shape)}")
    if images.shape[0] * height * width * images.shape[3] >= LARGEST * 8:
        raise RunFailed(f"size is too large: {height} x {width}")
    return height, width


def scale_of(in_size: int, out_size: int, align_corners: bool) -> np.float32:
    """The number of input pixels per output pixel."""
    if align_corners and out_size > 1:
        return np.float32(in_size - 1) / np.float32(out_size - 1)
    return np.float32(in_size) / np.float32(out_size)


def positions(out_size: int, scale: np.float32, half_pixel_centers: bool) -> Floats:
    """The positions of the output pixels in the input."""
    at = np.arange(out_size).astype(np.float32)
    return (at + HALF) * scale - HALF if half_pixel_centers else at * scale


def nearest(in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    scale = scale_of(in_size, out_size, align_corners)
    at = np.arange(out_size).astype(np.float32)
    position = (at + HALF) * scale if half_pixel_centers else at * scale
    picked = round_away(position) if align_corners else np.floor(position)
    return np.clip(picked.astype(np.int64), 0 if half_pixel_centers else None, in_size - 1)


def round_away(x: Any) -> Any:
    """Round to the nearest integer, halves away from zero, as roundf does."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= HALF, np.sign(x), 0)


def linear(
    in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool
) -> tuple[Any, Any, Floats]:
    """The lower and upper neighbor of each pixel, and its distance from the lower."""
    position = positions(out_size, scale_of(in_size, out_size, align_corners), half_pixel_centers)
    floor = np.floor(position)
    lower = np.clip(floor.astype(np.int64), 0, in_size - 1)
    upper = np.clip(np.ceil(position).astype(np.int64), 0, in_size - 1)
    return lower, upper, position - floor


TABLE = 1024
"""Steps between two pixels in TensorFlow's table of cubic weights."""


def _cubic_table(a: float) -> Floats:
    x = np.arange(TABLE + 1) / TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.stack([near, far], -1).astype(np.float32)


def cubic(in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Four neighbors; with half-pixel centers those outside have no weight, otherwise the edge repeats."""
    position = positions(out_size, scale_of(in_size, out_size, align_corners), half_pixel_centers)
    floor = np.floor(position)
    step = np.rint((position - floor) * np.float32(TABLE)).astype(np.int64)
    table = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    weights = np.stack(
        [table[step, 1], table[step, 0], table[TABLE - step, 0], table[TABLE - step, 1]], axis=-1
    )
    unclipped = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    at = np.clip(unclipped, 0, in_size - 1)
    if half_pixel_centers:
        weights = np.where(at == unclipped, weights, np.float32(0))
        total = weights.sum(-1, keepdims=True, dtype=np.float32)
        weights = np.where(np.abs(total) >= 1000 * np.finfo(np.float32).tiny, weights / total, weights)
    return Taps(at, weights.astype(np.float32))


def area(in_size: int, out_size: int, align_corners: bool) -> tuple[Taps, np.float32]:
    """The input pixels that each output pixel covers, the covered part of each, and the covered length."""
    # the scale is 0 if the corners of a single pixel are aligned
    scale = scale_of(in_size, out_size, align_corners) or ONE
    at = np.arange(out_size).astype(np.float32)
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
    return Taps(np.clip(i, 0, in_size - 1), covered), scale


def mix(images: Any, rows: Taps, columns: Taps) -> Any:
    """Compute each output pixel of float32 images as the weighted sum of its taps, along both axes."""
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


def spread(grads: Any, taps: Taps, axis: int, in_size: int) -> Any:
    """The transpose of `mix` along an axis: accumulate gradients of the output at the input positions."""
    moved = np.moveaxis(grads, axis, 0)
    out = np.zeros((in_size, *moved.shape[1:]), moved.dtype)
    shape = (-1,) + (1,) * (moved.ndim - 1)
    for k in range(taps.at.shape[1]):
        np.add.at(out, taps.at[:, k], moved * taps.weights[:, k].astype(moved.dtype).reshape(shape))
    return np.moveaxis(out, 0, axis)
