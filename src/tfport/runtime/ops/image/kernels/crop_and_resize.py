"""CropAndResize (boxes cut out of images and resized to one size) and its gradients; Resampler (points)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import ONE, round_away
from tfport.runtime.ops.shared.precision import widen


class _CropAxis(NamedTuple):
    """Positions of the pixels of each crop along one axis of its image: arrays of [box, pixel].

    `low` and `high` are the neighboring pixels, `far` is the distance from `low`.
    """

    at: Any
    inside: Any
    low: Any
    high: Any
    far: Any


def _axis(start: Any, end: Any, in_size: int, out_size: int) -> _CropAxis:
    last, start, end = np.float32(in_size - 1), start[:, None], end[:, None]
    if out_size > 1:
        step = (end - start) * last / np.float32(out_size - 1)
        at = start * last + np.arange(out_size).astype(np.float32) * step
    else:
        at = np.float32(0.5) * (start + end) * last
    inside = (at >= 0) & (at <= last)
    safe = np.where(inside, at, np.float32(0))
    low = np.floor(safe)
    return _CropAxis(safe, inside, low.astype(np.int64), np.ceil(safe).astype(np.int64), safe - low)


def _checked(image_shape: Any, boxes: Any, box_ind: Any) -> None:
    if len(image_shape) != 4 or image_shape[1] <= 0 or image_shape[2] <= 0:
        raise RunFailed(f"images must have 4 axes and not be empty, found shape {list(image_shape)}")
    if boxes.size == 0 and box_ind.size == 0:
        return
    if boxes.ndim != 2 or boxes.shape[1] != 4 or box_ind.shape != boxes.shape[:1]:
        raise RunFailed(
            f"boxes must have shape [n, 4] and box_ind [n], "
            f"found {list(boxes.shape)} and {list(box_ind.shape)}"
        )
    if np.any((box_ind < 0) | (box_ind >= image_shape[0])):
        raise RunFailed(
            f"box_ind must be at least 0 and less than the batch size {image_shape[0]}, "
            f"found {box_ind.min()} to {box_ind.max()}"
        )


def _size(crop_size: Any) -> tuple[int, int]:
    if crop_size.shape != (2,) or np.any(crop_size <= 0):
        raise RunFailed(f"crop_size must be two positive integers, found {crop_size.tolist()}")
    return int(crop_size[0]), int(crop_size[1])


@host("CropAndResize")
def crop_and_resize(image, boxes, box_ind, crop_size, *, method, extrapolation_value):
    _checked(image.shape, boxes, box_ind)
    height, width = _size(crop_size)
    if not box_ind.size:
        return np.zeros((0, height, width, image.shape[3]), np.float32)
    if not np.isfinite(boxes).all():
        raise RunFailed("boxes must be finite")
    y = _axis(boxes[:, 0], boxes[:, 2], image.shape[1], height)
    x = _axis(boxes[:, 1], boxes[:, 3], image.shape[2], width)
    which = box_ind[:, None, None]

    def pixels(rows: Any, columns: Any) -> Any:
        return image[which, rows[:, :, None], columns[:, None, :]].astype(np.float32)

    if method == "nearest":
        crops = pixels(round_away(y.at).astype(np.int64), round_away(x.at).astype(np.int64))
    else:
        across, down = x.far[:, None, :, None], y.far[:, :, None, None]
        left = pixels(y.low, x.low)
        top = left + (pixels(y.low, x.high) - left) * across
        left = pixels(y.high, x.low)
        bottom = left + (pixels(y.high, x.high) - left) * across
        crops = top + (bottom - top) * down
    inside = y.inside[:, :, None, None] & x.inside[:, None, :, None]
    return np.where(inside, crops, np.float32(extrapolation_value))


@host("CropAndResizeGradImage")
def crop_and_resize_grad_image(grads, boxes, box_ind, image_size, *, T, method):
    if image_size.shape != (4,) or grads.ndim != 4:
        raise RunFailed(
            "image_size must have 4 elements and grads 4 axes, "
            f"found shapes {list(image_size.shape)} and {list(grads.shape)}"
        )
    shape = tuple(int(n) for n in image_size)
    _checked(shape, boxes, box_ind)
    if len(grads) != len(boxes) or grads.shape[3] != shape[3]:
        raise RunFailed(f"grads {list(grads.shape)} do not match {len(boxes)} boxes and images {list(shape)}")
    dtype = np.float64 if T.name == "float64" else np.float32
    out = np.zeros(shape, dtype)
    y = _axis(boxes[:, 0], boxes[:, 2], shape[1], grads.shape[1])
    x = _axis(boxes[:, 1], boxes[:, 3], shape[2], grads.shape[2])
    inside = y.inside[:, :, None, None] & x.inside[:, None, :, None]
    grads = np.where(inside, grads, np.float32(0))
    which = box_ind[:, None, None]
    if method == "nearest":
        rows, columns = round_away(y.at).astype(np.int64), round_away(x.at).astype(np.int64)
        np.add.at(out, (which, rows[:, :, None], columns[:, None, :]), grads.astype(dtype))
        return out
    for rows, down in ((y.low, ONE - y.far), (y.high, y.far)):
        part = down[:, :, None, None] * grads
        for columns, across in ((x.low, ONE - x.far), (x.high, x.far)):
            weighted = (across[:, None, :, None] * part).astype(dtype)
            np.add.at(out, (which, rows[:, :, None], columns[:, None, :]), weighted)
    return out


@host("CropAndResizeGradBoxes")
def crop_and_resize_grad_boxes(grads, image, boxes, box_ind, *, method):
    if grads.ndim != 4:
        raise RunFailed(f"grads must have 4 axes, found shape {list(grads.shape)}")
    _checked(image.shape, boxes, box_ind)
    if len(grads) != len(boxes) or grads.shape[3] != image.shape[3]:
        raise RunFailed(
            f"grads {list(grads.shape)} do not match {len(boxes)} boxes and images {list(image.shape)}"
        )
    _, height, width, _ = grads.shape
    rows, columns = np.float32(image.shape[1] - 1), np.float32(image.shape[2] - 1)
    y = _axis(boxes[:, 0], boxes[:, 2], image.shape[1], height)
    x = _axis(boxes[:, 1], boxes[:, 3], image.shape[2], width)
    which = box_ind[:, None, None]

    def pixels(at_y: Any, at_x: Any) -> Any:
        return image[which, at_y[:, :, None], at_x[:, None, :]].astype(np.float32)

    across, down = x.far[:, None, :, None], y.far[:, :, None, None]
    a, b, c, d = pixels(y.low, x.low), pixels(y.low, x.high), pixels(y.high, x.low), pixels(y.high, x.high)
    grads = np.where(y.inside[:, :, None, None] & x.inside[:, None, :, None], grads, np.float32(0))
    by_y = (grads * ((1 - across) * (c - a) + across * (d - b))).sum((2, 3))
    by_x = (grads * ((1 - down) * (b - a) + down * (d - c))).sum((1, 3))
    ends = []
    for by, last, out_size in ((by_y, rows, height), (by_x, columns, width)):
        if out_size > 1:
            share = np.arange(out_size).astype(np.float32) * (last / np.float32(out_size - 1))
            ends.append(((by * (last - share)).sum(1), (by * share).sum(1)))
        else:
            ends.append(((by * np.float32(0.5) * last).sum(1),) * 2)
    (y1, y2), (x1, x2) = ends
    return np.stack([y1, x1, y2, x2], -1)


@host("Addons>Resampler")
def resampler(data, warp):
    """Pixels at points (x, y), mixed from the four around each; what is outside of the image is zero."""
    if data.ndim != 4 or warp.ndim < 2 or warp.shape[-1] != 2 or len(data) != len(warp):
        raise RunFailed(
            "data must have 4 axes and warp as many images, with 2 coordinates on its last axis, "
            f"found shapes {list(data.shape)} and {list(warp.shape)}"
        )
    height, width, channels = data.shape[1:]
    points = widen(warp).reshape(len(warp), int(np.prod(warp.shape[1:-1])), 2)
    x, y = points[..., 0], points[..., 1]
    inside = (x > -1) & (y > -1) & (x < width) & (y < height)
    x, y = np.where(inside, x, 0), np.where(inside, y, 0)
    left, top = np.floor(x), np.floor(y)
    framed = np.pad(widen(data), ((0, 0), (1, 1), (1, 1), (0, 0)))
    image, row, column = np.arange(len(data))[:, None], top.astype(np.int64) + 1, left.astype(np.int64) + 1
    right, down = (x - left)[..., None], (y - top)[..., None]
    mixed = (1 - right) * (1 - down) * framed[image, row, column]
    mixed += right * down * framed[image, row + 1, column + 1]
    mixed += (1 - right) * down * framed[image, row + 1, column]
    mixed += right * (1 - down) * framed[image, row, column + 1]
    return np.where(inside[..., None], mixed, 0).reshape(*warp.shape[:-1], channels).astype(data.dtype)
