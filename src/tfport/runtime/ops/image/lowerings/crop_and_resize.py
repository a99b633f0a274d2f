"""CropAndResize and Resampler, lowered to gathers of pixels and interpolation between them.

ONNX's `RoiAlign` is something else: it averages several samples per pixel, and ONNX `Resize` with a region
rounds positions in another order, so that pixels at the border may be inside or outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.image.lowerings.resize import between, per_channel, zero_or_error


class _CropAxis(NamedTuple):
    """Positions of the pixels of each crop along an axis: operands of shape [box, pixel].

    `low` and `high` are the neighboring pixels, `far` is the distance from `low`.
    """

    at: Operand
    inside: Operand
    low: Operand
    high: Operand
    far: Operand


@lower("CropAndResize")
def crop_and_resize(b, image, boxes, box_ind, crop_size, *, method, extrapolation_value):
    if image.rank != 4 or boxes.rank != 2 or box_ind.rank != 1:
        raise CannotLower("the rank of the images, the boxes or their indices is unknown or wrong")
    known = crop_size.known
    if known is None or len(known) != 2 or not all(size is not None and size > 0 for size in known):
        raise CannotLower("crop_size is not constant, or not positive")
    sizes = b.Shape(image, start=1, end=3)
    sizes = b.Add(sizes, zero_or_error(b, b.LessOrEqual(sizes, b.ints(0))))
    height, width = (b.Gather(sizes, b.const(i, INT64), axis=0) for i in range(2))
    ends = b.nodes("Split", _finite(b, boxes), b.ints(1, 1, 1, 1), outputs=4, axis=1)
    y = _axis(b, ends[0], ends[2], height, known[0])
    x = _axis(b, ends[1], ends[3], width, known[1])
    first_row = b.Mul(_images(b, image, boxes, box_ind), height)
    count = b.ReduceProd(b.Shape(image, start=0, end=3), b.ints(0), keepdims=1)
    pixels = b.Reshape(image, b.Concat(count, b.Shape(image, start=3, end=4), axis=0), allowzero=1)

    def gathered(rows: Operand, columns: Operand) -> Operand:
        rows = b.unsqueeze(b.Mul(b.Add(first_row, rows), width), 2)
        positions = b.Add(rows, b.unsqueeze(columns, 1))
        crops: Operand = b.cast(b.Gather(pixels, positions, axis=0), FLOAT32)
        return crops

    if method == "nearest":
        crops = gathered(_rounded(b, y.at), _rounded(b, x.at))
    else:
        across, down = per_channel(b, b.unsqueeze(x.far, 1, 3), image), b.unsqueeze(y.far, 2, 3)
        top, bottom = (
            between(b, gathered(rows, x.low), gathered(rows, x.high), across) for rows in (y.low, y.high)
        )
        crops = between(b, top, bottom, down)
    inside = b.And(b.unsqueeze(y.inside, 2, 3), b.unsqueeze(x.inside, 1, 3))
    return b.Where(inside, crops, b.const(extrapolation_value, FLOAT32))


def _axis(b: Builder, start: Operand, end: Operand, in_size: Operand, out_size: int) -> _CropAxis:
    last = b.cast(b.Sub(in_size, b.const(1, INT64)), FLOAT32)
    if out_size > 1:
        step = b.Div(b.Mul(b.Sub(end, start), last), b.const(out_size - 1, FLOAT32))
        at = b.Add(b.Mul(start, last), b.Mul(b.const(np.arange(out_size), FLOAT32), step))
    else:
        at = b.Mul(b.Mul(b.const(0.5, FLOAT32), b.Add(start, end)), last)
    zero = b.const(0, FLOAT32)
    inside = b.And(b.GreaterOrEqual(at, zero), b.LessOrEqual(at, last))
    safe = b.Where(inside, at, zero)
    low = b.Floor(safe)
    return _CropAxis(safe, inside, b.int64(low), b.int64(b.Ceil(safe)), b.Sub(safe, low))


def _finite(b: Builder, boxes: Operand) -> Operand:
    """The boxes, with an error at run time if they are not finite."""
    wrong = b.Not(b.LessOrEqual(b.Abs(boxes), b.const(np.finfo(np.float32).max, FLOAT32)))
    return b.Add(boxes, b.cast(zero_or_error(b, wrong), FLOAT32))


def _images(b: Builder, image: Operand, boxes: Operand, box_ind: Operand) -> Operand:
    """The image of each box, as a column; an error at run time if there is no such image."""
    index = b.Reshape(b.int64(box_ind), b.Shape(boxes, start=0, end=1), allowzero=1)
    count = b.Shape(image, start=0, end=1)
    wrong = b.Or(b.Less(index, b.ints(0)), b.GreaterOrEqual(index, count))
    return b.unsqueeze(b.Add(index, zero_or_error(b, wrong)), 1)


def _rounded(b: Builder, at: Operand) -> Operand:
    """No position is negative, so this rounds halves away from zero."""
    whole = b.Floor(at)
    up = b.cast(b.GreaterOrEqual(b.Sub(at, whole), b.const(0.5, FLOAT32)), FLOAT32)
    return b.int64(b.Add(whole, up))


@lower("Addons>Resampler")
def resampler(b, data, warp):
    """A frame of zeros around each image has the neighbors of points that are just outside of it."""
    if data.rank != 4 or (warp.rank or 0) < 2 or data.dtype.name not in ("float32", "float64"):
        raise CannotLower("the rank of the images or the points is unknown or wrong, or they are float16")
    kind, of_points = data.dtype, b.Shape(warp, start=1, end=-1)
    batch = b.Shape(warp, start=0, end=1)
    points = b.Concat(batch, b.ReduceProd(of_points, b.ints(0), keepdims=1), b.ints(2), axis=0)
    points = b.Reshape(warp, points, allowzero=1)
    x, y = (b.Gather(points, b.const(i, INT64), axis=2) for i in range(2))
    height, width = (b.Shape(data, start=axis, end=axis + 1) for axis in (1, 2))
    inside = b.And(_is_near(b, x, width), _is_near(b, y, height))
    x, y = (b.Where(inside, each, b.const(0, kind)) for each in (x, y))
    left, top = b.Floor(x), b.Floor(y)
    right, down = (b.unsqueeze(b.Sub(*each), 2) for each in ((x, left), (y, top)))
    framed = b.Pad(data, b.ints(0, 1, 1, 0, 0, 1, 1, 0), b.const(0, kind))
    count = b.ReduceProd(b.Shape(framed, start=0, end=3), b.ints(0), keepdims=1)
    pixels = b.Reshape(framed, b.Concat(count, b.Shape(data, start=3), axis=0), allowzero=1)
    across, along = (b.Add(size, b.ints(2)) for size in (width, height))
    number = b.Range(b.const(0, INT64), b.squeeze(batch, 0), b.const(1, INT64))
    first = b.Reshape(number, b.Shape(data, start=0, end=1), allowzero=1)  # fails if there are not as many
    row = b.Add(b.Mul(b.unsqueeze(first, 1), along), b.Add(b.int64(top), b.ints(1)))
    at = b.Add(b.Mul(row, across), b.Add(b.int64(left), b.ints(1)))
    to_right, to_left = right, b.Sub(b.const(1, kind), right)
    to_bottom, to_top = down, b.Sub(b.const(1, kind), down)
    below = b.Add(at, across)
    mixed = b.Mul(b.Mul(to_left, to_top), b.Gather(pixels, at, axis=0))
    for weights, where in (
        (b.Mul(to_right, to_bottom), b.Add(below, b.ints(1))),
        (b.Mul(to_left, to_bottom), below),
        (b.Mul(to_right, to_top), b.Add(at, b.ints(1))),
    ):
        mixed = b.Add(mixed, b.Mul(weights, b.Gather(pixels, where, axis=0)))
    mixed = b.Where(b.unsqueeze(inside, 2), mixed, b.const(0, kind))
    shape = b.Concat(b.Shape(warp, start=0, end=-1), b.Shape(data, start=3), axis=0)
    return b.Reshape(mixed, shape, allowzero=1)


def _is_near(b: Builder, at: Operand, size: Operand) -> Operand:
    """Whether a position is less than a pixel away from the pixels of an axis."""
    return b.And(b.Greater(at, b.const(-1, at.dtype)), b.Less(at, b.cast(size, at.dtype)))
