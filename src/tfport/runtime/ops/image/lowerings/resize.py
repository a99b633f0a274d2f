"""Resizing of images, lowered to weighted gathers of rows and columns, or to `Resize` if that is exact.

ONNX `Resize` computes positions by a division where TensorFlow multiplies: at some sizes the nearest pixels
differ, at many the weights of the neighbors. `Resize` is twice as fast and is used if both sizes are known
and all positions agree; for the nearest pixels, if each comes equally often. Where an image becomes a whole
number of times as large, that number is a constant: then ONNX Runtime keeps images in blocks of channels.
Gathers compute exactly what TensorFlow does. If both sizes are known, positions and weights are constants;
otherwise the engine computes them, with the same float32 operations. Which comes first, taking the rows or
interpolating between columns, depends on the sizes: the result is the same, the work is not.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.runtime_branch import runtime_branch
from tfport.runtime.operand import Operand
from tfport.runtime.ops.image import resize_samples as sizes
from tfport.runtime.program import ONNX_TYPES

HEIGHT, WIDTH = 1, 2
FEW_CHANNELS = 16


def _known(images: Operand, size: Operand, axis: int) -> tuple[int, int] | None:
    """The input and output size along an axis, if both are known."""
    in_size = images.shape[axis] if images.shape is not None else None
    out_size = size.known[axis - 1] if size.known is not None and len(size.known) == 2 else None
    if in_size is None or out_size is None:
        return None
    if in_size <= 0 or out_size <= 0:
        raise CannotLower("images are empty, which is an error at run time")
    return in_size, out_size


def _check(images: Operand, align_corners: bool, half_pixel_centers: bool) -> None:
    if images.rank != 4:
        raise CannotLower("the rank of images is unknown or not 4")
    if align_corners and half_pixel_centers:
        raise CannotLower("align_corners and half_pixel_centers are both true, which TensorFlow rejects")


class _ResizeAxis:
    """The sizes along an axis, computed by the engine, and the positions of output pixels in the input."""

    def __init__(
        self, b: Builder, images: Operand, size: Operand, axis: int, align: bool, half: bool
    ) -> None:
        self.b, self.half = b, half
        self.in_size = b.Shape(images, start=axis, end=axis + 1)
        out_size = b.Slice(b.Reshape(b.int64(size), b.ints(2)), b.ints(axis - 1), b.ints(axis), b.ints(0))
        self.out_size = b.Add(out_size, zero_or_error(b, b.LessOrEqual(out_size, b.ints(0))))
        in_float, out_float = b.cast(self.in_size, FLOAT32), b.cast(self.out_size, FLOAT32)
        unit = b.const([1], FLOAT32)
        self.scale = b.Div(in_float, out_float)
        if align:
            corners = b.Div(b.Sub(in_float, unit), b.Max(b.Sub(out_float, unit), unit))
            self.scale = b.Where(b.Greater(out_float, unit), corners, self.scale)

    def centers(self) -> Operand:
        b = self.b
        count = b.squeeze(self.out_size, 0)
        at = b.cast(b.Range(b.const(0, INT64), count, b.const(1, INT64)), FLOAT32)
        if self.half:
            at = b.Add(at, b.const(0.5, FLOAT32))
        return b.Mul(at, self.scale)

    def positions(self) -> Operand:
        centers = self.centers()
        return self.b.Sub(centers, self.b.const(0.5, FLOAT32)) if self.half else centers

    def inside(self, position: Operand) -> Operand:
        b = self.b
        whole = b.Max(b.cast(position, INT64), b.ints(0))
        return b.Min(whole, b.Sub(self.in_size, b.ints(1)))


def zero_or_error(b: Builder, wrong: Operand) -> Operand:
    """0, or an index out of range if `wrong`, which makes the engine fail."""
    return b.Gather(b.ints(0), b.cast(wrong, INT64), axis=0)


@lower("ResizeNearestNeighbor")
def resize_nearest_neighbor(b, images, size, *, align_corners, half_pixel_centers):
    _check(images, align_corners, half_pixel_centers)
    knowns = [_known(images, size, axis) for axis in (HEIGHT, WIDTH)]
    factors = _factors(knowns)
    if (
        factors is not None
        and images.dtype == FLOAT32
        and all(_repeats(*known, align_corners, half_pixel_centers) for known in knowns if known is not None)
    ):
        return _enlarged(b, images, factors, mode="nearest", nearest_mode="floor")
    for axis, known in zip((HEIGHT, WIDTH), knowns, strict=True):
        if known is not None:
            if known[0] == known[1]:
                continue
            at = b.const(sizes.nearest(*known, align_corners, half_pixel_centers), INT64)
        else:
            resize_axis = _ResizeAxis(b, images, size, axis, align_corners, half_pixel_centers)
            position = resize_axis.centers()
            # no position is negative, so this rounds halves away from zero
            half_up = b.Floor(b.Add(position, b.const(0.5, FLOAT32))) if align_corners else b.Floor(position)
            at = resize_axis.inside(half_up)
        images = b.Gather(images, at, axis=axis)
    return images if b.added else b.Identity(images)


@lower("ResizeBilinear")
def resize_bilinear(b, images, size, *, align_corners, half_pixel_centers):
    _check(images, align_corners, half_pixel_centers)
    knowns = [_known(images, size, axis) for axis in (HEIGHT, WIDTH)]
    if all(known is not None and known[0] == known[1] for known in knowns):
        x = b.cast(images, FLOAT32)
        return x if x is not images else b.Identity(x)
    if all(
        known is not None and _positions_agree(*known, align_corners, half_pixel_centers) for known in knowns
    ):
        sized = [known for known in knowns if known is not None]
        return _resize(b, b.cast(images, FLOAT32), sized, align_corners, half_pixel_centers)
    samples = [_samples(b, images, size, axis, align_corners, half_pixel_centers) for axis in (HEIGHT, WIDTH)]
    few_rows, many_rows = (
        partial(_interpolated, images=images, samples=samples, few=few) for few in (True, False)
    )
    if knowns[0] is not None:
        resized = few_rows if 2 * knowns[0][1] < knowns[0][0] else many_rows
    else:
        takes_few = _takes_few_rows(b, images, size)
        resized = partial(runtime_branch, condition=takes_few, make_then=few_rows, make_else=many_rows)
    if None not in knowns:
        return resized(b)
    same = _same_size(b, images, size)
    return runtime_branch(b, same, partial(_as_float, images=images), resized, partial(many_rows, same=same))


def _as_float(b: Builder, images: Operand) -> Operand:
    return b.nodes("Cast", images, dtype=FLOAT32, to=ONNX_TYPES[FLOAT32.name])[0]


Samples = tuple[Operand, Operand, Operand]
"""For each output pixel along an axis: its two neighbors in the input, and the weight of the second."""


def _samples(b: Builder, images: Operand, size: Operand, axis: int, align: bool, half: bool) -> Samples:
    if (known := _known(images, size, axis)) is not None:
        below, above, far = sizes.linear(*known, align, half)
        return b.const(below, INT64), b.const(above, INT64), b.const(far, FLOAT32)
    resize_axis = _ResizeAxis(b, images, size, axis, align, half)
    position = resize_axis.positions()
    floor = b.Floor(position)
    return resize_axis.inside(floor), resize_axis.inside(b.Ceil(position)), b.Sub(position, floor)


def _takes_few_rows(b: Builder, images: Operand, size: Operand) -> Operand:
    """Whether less than half of the rows are needed, computed by the engine."""
    in_size = b.squeeze(b.Shape(images, start=HEIGHT, end=HEIGHT + 1), 0)
    out_size = b.Gather(b.int64(size), b.const(0, INT64), axis=0)
    return b.Less(b.Mul(out_size, b.const(2, INT64)), in_size)


def _interpolated(
    b: Builder, images: Operand, samples: list[Samples], few: bool, same: Operand | None = None
) -> Operand:
    """Interpolate between columns, then between rows: TensorFlow rounds in this order.

    `same`: whether pixels stay as they are; between infinities, interpolation makes NaN.
    """

    def mixed(low: Operand, high: Operand, weight: Operand) -> Operand:
        result = between(b, low, high, weight)
        return result if same is None else b.Where(same, low, result)

    (upper, lower_, weight), (left, right, across) = samples
    across = per_channel(b, b.reshape(across, -1, 1), images)
    weight = b.reshape(weight, -1, 1, 1)

    def between_columns(rows: Operand) -> Operand:
        near, far = (b.cast(b.Gather(rows, at, axis=WIDTH), FLOAT32) for at in (left, right))
        return mixed(near, far, across)

    if few:
        above, below = (between_columns(b.Gather(images, at, axis=HEIGHT)) for at in (upper, lower_))
    else:
        narrow = between_columns(b.cast(images, FLOAT32))
        above, below = (b.Gather(narrow, at, axis=HEIGHT) for at in (upper, lower_))
    return mixed(above, below, weight)


def per_channel(b: Builder, weights: Operand, images: Operand) -> Operand:
    """Weights of columns repeated for each of a few channels: engines broadcast over short rows slowly."""
    channels = images.shape[3] if images.shape is not None else None
    if channels is None or not 1 < channels <= FEW_CHANNELS:
        return weights
    if weights.array is not None:
        return b.const(np.repeat(weights.array, channels, axis=-1), FLOAT32)
    return b.Expand(weights, b.ints(channels))


def _factors(knowns: list[tuple[int, int] | None]) -> list[int] | None:
    """How many times as large the output is along each axis, if that is known and whole."""
    factors = [known[1] // known[0] for known in knowns if known is not None and known[1] % known[0] == 0]
    return factors if len(factors) == len(knowns) and max(factors) > 1 else None


def _repeats(in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool) -> bool:
    """Whether each pixel comes equally often."""
    times = np.arange(out_size) // (out_size // in_size)
    return bool(np.array_equal(sizes.nearest(in_size, out_size, align_corners, half_pixel_centers), times))


def _positions_agree(in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool) -> bool:
    """Whether the arithmetic of ONNX Runtime computes the same positions as TensorFlow's."""
    ours = sizes.positions(out_size, sizes.scale_of(in_size, out_size, align_corners), half_pixel_centers)
    at, scale = np.arange(out_size).astype(np.float32), np.float32(out_size) / np.float32(in_size)
    if align_corners:
        theirs = at * np.float32(in_size - 1) / np.float32(max(out_size - 1, 1))
    else:
        theirs = (at + sizes.HALF) / scale - sizes.HALF if half_pixel_centers else at / scale
    return bool(np.array_equal(ours, theirs))


def _resize(
    b: Builder, x: Operand, knowns: list[tuple[int, int]], align_corners: bool, half: bool
) -> Operand:
    mode = "align_corners" if align_corners else "half_pixel" if half else "asymmetric"
    if (factors := _factors([*knowns])) is not None:
        return _enlarged(b, x, factors, mode="linear", coordinate_transformation_mode=mode)
    planes = b.transpose(x, [0, 3, 1, 2])
    shape = b.Concat(b.Shape(planes, start=0, end=2), b.ints(*(out for _, out in knowns)), axis=0)
    resized = b.Resize(planes, None, None, shape, mode="linear", coordinate_transformation_mode=mode)
    return b.transpose(resized, [0, 2, 3, 1])


def _enlarged(b: Builder, x: Operand, factors: list[int], **attrs: str) -> Operand:
    """Images enlarged by constant factors, which engines compute in the layout of convolutions."""
    attrs = {"coordinate_transformation_mode": "asymmetric"} | attrs
    scales = b.const([1, 1, *factors], FLOAT32)
    return b.transpose(b.Resize(b.transpose(x, [0, 3, 1, 2]), None, scales, **attrs), [0, 2, 3, 1])


def _same_size(b: Builder, images: Operand, size: Operand) -> Operand:
    """Whether the output size is the input size, computed by the engine."""
    # not in int64, whose smallest number a GPU must not compute
    equal = b.cast(b.Equal(b.Shape(images, start=HEIGHT, end=WIDTH + 1), b.int64(size)), INT32)
    return b.cast(b.ReduceMin(equal, b.ints(0), keepdims=0), BOOL)


def between(b: Builder, low: Operand, high: Operand, weight: Operand) -> Operand:
    """Interpolate, rounding as TensorFlow does."""
    return b.Add(low, b.Mul(b.Sub(high, low), weight))


@lower("ResizeBicubic")
def resize_bicubic(b, images, size, *, align_corners, half_pixel_centers):
    _check(images, align_corners, half_pixel_centers)
    x = b.cast(images, FLOAT32)
    for axis in (WIDTH, HEIGHT):
        if (known := _known(images, size, axis)) is None:
            raise CannotLower("the sizes of a bicubic resize are unknown")
        taps = sizes.cubic(*known, align_corners, half_pixel_centers)
        x = _mixed(b, x, taps, axis)
    return x


def _mixed(b: Builder, x: Operand, taps: sizes.Taps, axis: int) -> Operand:
    total = None
    for k in range(taps.at.shape[1]):
        weights = b.const(taps.weights[:, k].reshape(-1, *(1,) * (3 - axis)), FLOAT32)
        if axis == WIDTH:
            weights = per_channel(b, weights, x)
        part = b.Mul(b.Gather(x, b.const(taps.at[:, k], INT64), axis=axis), weights)
        total = part if total is None else b.Add(total, part)
    assert total is not None
    return total
