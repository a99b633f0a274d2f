"""Colors of images: conversion between RGB and HSV, adjustments, and drawing of bounding boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _wide(images: Any) -> Any:
    return images if images.dtype == np.float64 else images.astype(np.float32)


def _colors(images: Any, rank: int = 1) -> Any:
    if images.ndim < rank or images.shape[-1] != 3:
        raise RunFailed(f"images must have 3 channels, found shape {list(images.shape)}")
    return _wide(images)


@host("RGBToHSV")
def rgb_to_hsv(images):
    return _hsv(_colors(images))


def _hsv(rgb: Any) -> Any:
    dtype = rgb.dtype.type
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = rgb.max(-1)
    spread = value - rgb.min(-1)
    saturation = np.where(value > 0, spread / value, dtype(0))
    unit = dtype(1) / (dtype(6) * spread)
    hue = np.where(
        r == value,
        unit * (g - b),
        np.where(g == value, unit * (b - r) + dtype(2) / dtype(6), unit * (r - g) + dtype(4) / dtype(6)),
    )
    hue = np.where(spread > 0, hue, dtype(0))
    return np.stack([np.where(hue < 0, hue + dtype(1), hue), saturation, value], -1)


@host("HSVToRGB")
def hsv_to_rgb(images):
    return _rgb(_colors(images))


def _rgb(hsv: Any) -> Any:
    dtype = hsv.dtype.type
    hue, saturation, value = hsv[..., :1] * dtype(6), hsv[..., 1:2], hsv[..., 2:]
    bases = np.concatenate(
        [abs(hue - dtype(3)) - dtype(1), dtype(2) - abs(hue - dtype(2)), dtype(2) - abs(hue - dtype(4))], -1
    )
    pure = np.clip(bases, dtype(0), dtype(1))
    return (dtype(1) - saturation + saturation * pure) * value


def _scalar(value: Any, what: str) -> Any:
    if value.ndim:
        raise RunFailed(f"{what} must be a scalar, found shape {list(value.shape)}")
    return np.float32(value)


@host("AdjustSaturation")
def adjust_saturation(images, scale):
    factor = _scalar(scale, "scale")
    hsv = _hsv(_colors(images, 3))
    hsv[..., 1] = np.clip(hsv[..., 1] * factor, 0, 1)
    return _rgb(hsv)


_MAX_SIXTHS = 1e6  # TensorFlow reduces the hue one turn at a time and would never finish
# for each sixth of the hue circle: which of (lowest, middle, highest) red, green and blue are
_CHANNELS = np.array([[2, 1, 0], [1, 2, 0], [0, 2, 1], [0, 1, 2], [1, 0, 2], [2, 0, 1]])


@host("AdjustHue")
def adjust_hue(images, delta):
    turn = _scalar(delta, "delta") * np.float32(6)
    if not abs(turn) < _MAX_SIXTHS:
        raise RunFailed(f"delta is too large: {delta}")
    rgb = _colors(images, 3)
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    sixth = np.where(
        r < g, np.where(b < r, 1, np.where(b > g, 3, 2)), np.where(b < g, 0, np.where(b > r, 4, 5))
    )
    low, middle, high = np.moveaxis(np.sort(rgb, -1), -1, 0)
    ratio = (middle - low) / (high - low)
    hue = sixth.astype(np.float32) + np.where(sixth % 2 == 0, ratio, np.float32(1) - ratio)
    hue = _in_circle(np.where(high == low, np.float32(0), hue) + turn)
    sixth = np.minimum(hue.astype(np.int64), 5)
    ratio = hue - hue.astype(np.int64).astype(np.float32)
    ratio = np.where(sixth % 2 == 0, ratio, np.float32(1) - ratio)
    levels = np.stack([low, low + ratio * (high - low), high], -1)
    return np.take_along_axis(levels, _CHANNELS[sixth], -1)


def _in_circle(hue: Any) -> Any:
    """Bring hues into [0, 6), one turn at a time, with the rounding of TensorFlow."""
    six = np.float32(6)
    while np.any(low := hue < 0):
        hue = np.where(low, hue + six, hue)
    while np.any(high := hue >= six):
        hue = np.where(high, hue - six, hue)
    return hue


def _contrast(images: Any, factor: Any) -> Any:
    if images.ndim < 3:
        raise RunFailed(f"images must have at least 3 axes, found shape {list(images.shape)}")
    wide = images.astype(np.float32)
    mean = wide.mean((-3, -2), keepdims=True, dtype=np.float64).astype(np.float32)
    return (wide - mean) * _scalar(factor, "contrast_factor") + mean


@host("AdjustContrastv2")
def adjust_contrast_v2(images, contrast_factor):
    return _contrast(images, contrast_factor)


@host("AdjustContrast")
def adjust_contrast(images, contrast_factor, min_value, max_value):
    least, most = _scalar(min_value, "min_value"), _scalar(max_value, "max_value")
    return np.maximum(np.minimum(_contrast(images, contrast_factor), most), least)


# the colors that NTSC television sends: Y is the brightness, I and Q the plane of hues
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])


def yiq_adjustment(delta_h: Any, scale_s: Any, scale_v: Any) -> Any:
    """The matrix that turns the hue, and scales saturation and value, of a row (red, green, blue)."""
    u, w = scale_v * scale_s * np.cos(delta_h), scale_v * scale_s * np.sin(delta_h)
    turned = np.array([[scale_v, 0, 0], [0, u, -w], [0, w, u]], np.float64)
    return (np.linalg.inv(_YIQ) @ turned @ _YIQ).T.astype(np.float32)


@host("Addons>AdjustHsvInYiq AdjustHsvInYiq")
def adjust_hsv_in_yiq(images, delta_h, scale_s, scale_v):
    wide = _colors(images, 3)
    scalars = _scalar(delta_h, "delta_h"), _scalar(scale_s, "scale_s"), _scalar(scale_v, "scale_v")
    return wide @ yiq_adjustment(*scalars)


# Bounding boxes

_COLORS = np.array(
    [
        [1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1],
    ],
    np.float32,
)  # fmt: skip


@host("DrawBoundingBoxes")
def draw_bounding_boxes(images, boxes):
    return _draw_all(images, boxes, np.zeros((0, 4), np.float32))


@host("DrawBoundingBoxesV2")
def draw_bounding_boxes_v2(images, boxes, colors):
    return _draw_all(images, boxes, colors)


def _draw_all(images: Any, boxes: Any, colors: Any) -> Any:
    if images.ndim != 4 or boxes.ndim != 3 or images.shape[0] != boxes.shape[0] or boxes.shape[2] != 4:
        raise RunFailed(
            "images must have shape [n, height, width, depth] and boxes [n, count, 4], "
            f"found {list(images.shape)} and {list(boxes.shape)}"
        )
    depth = images.shape[3]
    if depth not in (1, 3, 4) or colors.ndim != 2 or colors.shape[1] < depth:
        raise RunFailed(
            "images must have 1, 3 or 4 channels, and colors at least as many, "
            f"found shapes {list(images.shape)} and {list(colors.shape)}"
        )
    if not colors.size:
        colors = _COLORS.copy()
        if depth == 1:
            colors[:, 0] = 1
    out = images.copy()
    sides = np.array([images.shape[1] - 1, images.shape[2] - 1] * 2).astype(np.float32)
    corners = (boxes * sides).astype(np.int64)
    for canvas, image_boxes in zip(out, corners, strict=True):
        for i, (top, left, bottom, right) in enumerate(image_boxes.tolist()):
            _draw(canvas, top, left, bottom, right, colors[i % len(colors), :depth].astype(images.dtype))
    return out


def _draw(canvas: Any, top: int, left: int, bottom: int, right: int, color: Any) -> None:
    height, width, _ = canvas.shape
    if top > bottom or left > right or top >= height or left >= width or bottom < 0 or right < 0:
        return
    rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            canvas[row, columns] = color
    for column in (left, right):
        if 0 <= column < width:
            canvas[rows, column] = color
