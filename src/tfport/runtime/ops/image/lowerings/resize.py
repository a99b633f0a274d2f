"""Resizes as gathers of rows and columns, mixed by their weights; as `Resize` where that is the same.

`Resize` of ONNX places pixels by dividing where TensorFlow multiplies: at some sizes
nearest pixels differ, at many the weights of neighbours do. It is taken for bilinear resizes of
floats between sizes that are known and at which both place pixels alike, being twice as fast.
(Resized integers are often rounded again, and one bit more or less then shows.)
Gathers say exactly what TensorFlow does. Where both sizes are known, places and weights
are constants; otherwise the engine computes them, in the same steps of float32.
"""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.image import resize_samples as sizes

HEIGHT, WIDTH = 1, 2


def _known(images: Operand, size: Operand, axis: int) -> tuple[int, int] | None:
    """How many pixels there are and how many are wanted along an axis, where both are known."""
    given = images.shape[axis] if images.shape is not None else None
    wanted = size.known[axis - 1] if size.known is not None and len(size.known) == 2 else None
    if given is None or wanted is None:
        return None
    if given <= 0 or wanted <= 0:
        raise CannotLower("images without pixels are refused when they are met")
    return given, wanted


def _checked(images: Operand, align_corners: bool, half_pixel_centers: bool) -> None:
    if images.rank != 4:
        raise CannotLower("images are not known to have 4 dimensions")
    if align_corners and half_pixel_centers:
        raise CannotLower("TensorFlow refuses align_corners together with half_pixel_centers")


class _Axis:
    """The sizes along an axis as the engine knows them, and where output pixels lie in the input."""

    def __init__(
        self, b: Builder, images: Operand, size: Operand, axis: int, align: bool, half: bool
    ) -> None:
        self.b, self.half = b, half
        self.given = b.Shape(images, start=axis, end=axis + 1)
        wanted = b.Slice(b.Reshape(b.int64(size), b.ints(2)), b.ints(axis - 1), b.ints(axis), b.ints(0))
        self.wanted = b.Add(wanted, _zero_or_error(b, b.LessOrEqual(wanted, b.ints(0))))
        given, asked = b.cast(self.given, FLOAT32), b.cast(self.wanted, FLOAT32)
        one = b.const([1], FLOAT32)
        self.scale = b.Div(given, asked)
        if align:
            corners = b.Div(b.Sub(given, one), b.Max(b.Sub(asked, one), one))
            self.scale = b.Where(b.Greater(asked, one), corners, self.scale)

    def centers(self) -> Operand:
        b = self.b
        count = b.squeeze(self.wanted, 0)
        at = b.cast(b.Range(b.const(0, INT64), count, b.const(1, INT64)), FLOAT32)
        if self.half:
            at = b.Add(at, b.const(0.5, FLOAT32))
        return b.Mul(at, self.scale)

    def places(self) -> Operand:
        centers = self.centers()
        return self.b.Sub(centers, self.b.const(0.5, FLOAT32)) if self.half else centers

    def inside(self, place: Operand) -> Operand:
        b = self.b
        whole = b.Max(b.cast(place, INT64), b.ints(0))
        return b.Min(whole, b.Sub(self.given, b.ints(1)))


def _zero_or_error(b: Builder, wrong: Operand) -> Operand:
    """0, or an index that is out of range: the engine's way to refuse."""
    return b.Gather(b.ints(0), b.cast(wrong, INT64), axis=0)


@lower("ResizeNearestNeighbor")
def resize_nearest_neighbor(b, images, size, *, align_corners, half_pixel_centers):
    _checked(images, align_corners, half_pixel_centers)
    for axis in (HEIGHT, WIDTH):
        if (known := _known(images, size, axis)) is not None:
            if known[0] == known[1]:
                continue
            at = b.const(sizes.nearest(*known, align_corners, half_pixel_centers), INT64)
        else:
            place = _Axis(b, images, size, axis, align_corners, half_pixel_centers)
            where = place.centers()
            # halves away from zero, as no place is negative
            half_up = b.Floor(b.Add(where, b.const(0.5, FLOAT32))) if align_corners else b.Floor(where)
            at = place.inside(half_up)
        images = b.Gather(images, at, axis=axis)
    return images if b.made else b.Identity(images)


@lower("ResizeBilinear")
def resize_bilinear(b, images, size, *, align_corners, half_pixel_centers):
    _checked(images, align_corners, half_pixel_centers)
    x = b.cast(images, FLOAT32)
    knowns = [_known(images, size, axis) for axis in (HEIGHT, WIDTH)]
    if all(known is not None and known[0] == known[1] for known in knowns):
        return x if x is not images else b.Identity(x)
    if all(
        known is not None and _places_agree(*known, align_corners, half_pixel_centers) for known in knowns
    ):
        return _resize(
            b, x, [known[1] for known in knowns if known is not None], align_corners, half_pixel_centers
        )
    same = _same_size(b, images, size)
    # columns first: TensorFlow rounds in this order
    for axis, known in ((WIDTH, knowns[1]), (HEIGHT, knowns[0])):
        if known is not None:
            below, above, far = sizes.linear(*known, align_corners, half_pixel_centers)
            lower_, upper, weight = b.const(below, INT64), b.const(above, INT64), b.const(far, FLOAT32)
        else:
            place = _Axis(b, images, size, axis, align_corners, half_pixel_centers)
            where = place.places()
            floor = b.Floor(where)
            lower_, upper, weight = place.inside(floor), place.inside(b.Ceil(where)), b.Sub(where, floor)
        x = _between(b, x, lower_, upper, weight, axis, same)
    return x


def _places_agree(given: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> bool:
    """Whether ONNX Runtime finds the places that TensorFlow finds, by its own arithmetic."""
    ours = sizes.places(wanted, sizes.scale_of(given, wanted, align_corners), half_pixel_centers)
    at, scale = np.arange(wanted).astype(np.float32), np.float32(wanted) / np.float32(given)
    if align_corners:
        theirs = at * np.float32(given - 1) / np.float32(max(wanted - 1, 1))
    else:
        theirs = (at + sizes.HALF) / scale - sizes.HALF if half_pixel_centers else at / scale
    return bool(np.array_equal(ours, theirs))


def _resize(b: Builder, x: Operand, wanted: list[int], align_corners: bool, half_pixel: bool) -> Operand:
    mode = "align_corners" if align_corners else "half_pixel" if half_pixel else "asymmetric"
    planes = b.transpose(x, [0, 3, 1, 2])
    shape = b.Concat(b.Shape(planes, start=0, end=2), b.ints(*wanted), axis=0)
    resized = b.Resize(planes, None, None, shape, mode="linear", coordinate_transformation_mode=mode)
    return b.transpose(resized, [0, 2, 3, 1])


def _same_size(b: Builder, images: Operand, size: Operand) -> Operand | None:
    """Whether the size is the one that images have, where only a run tells."""
    if all(_known(images, size, axis) is not None for axis in (HEIGHT, WIDTH)):
        return None
    equal = b.cast(b.Equal(b.Shape(images, start=HEIGHT, end=WIDTH + 1), b.int64(size)), INT64)
    return b.Equal(b.ReduceMin(equal, b.ints(0), keepdims=1), b.ints(1))


def _between(
    b: Builder, x: Operand, at: Operand, next_: Operand, weight: Operand, axis: int, same: Operand | None
) -> Operand:
    low, high = b.Gather(x, at, axis=axis), b.Gather(x, next_, axis=axis)
    along = b.reshape(weight, *(-1 if i == axis else 1 for i in range(axis, 4)))
    apart = b.Sub(high, low)
    if same is not None:  # infinities stay what they are where nothing is resized
        apart = b.Where(same, b.const(0, FLOAT32), apart)
    return b.Add(low, b.Mul(apart, along))


@lower("ResizeBicubic")
def resize_bicubic(b, images, size, *, align_corners, half_pixel_centers):
    _checked(images, align_corners, half_pixel_centers)
    x = b.cast(images, FLOAT32)
    for axis in (WIDTH, HEIGHT):
        if (known := _known(images, size, axis)) is None:
            raise CannotLower("the sizes of a bicubic resize are not known")
        taps = sizes.cubic(*known, align_corners, half_pixel_centers)
        x = _mixed(b, x, taps, axis)
    return x


def _mixed(b: Builder, x: Operand, taps: sizes.Taps, axis: int) -> Operand:
    total = None
    for k in range(taps.at.shape[1]):
        weights = b.const(taps.weights[:, k].reshape(-1, *(1,) * (3 - axis)), FLOAT32)
        part = b.Mul(b.Gather(x, b.const(taps.at[:, k], INT64), axis=axis), weights)
        total = part if total is None else b.Add(total, part)
    assert total is not None
    return total
