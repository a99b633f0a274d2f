"""Projective transforms of images, with the modes that fill pixels outside of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import round_away

ONE = np.float32(1)


def _reflected(at: Any, size: int) -> Any:
    """d c b a | a b c d | d c b a"""
    if size <= 1:
        return np.zeros_like(at)
    whole = np.float32(2 * size)
    below = whole * np.trunc(-at / whole) + at
    below = np.where(below < -size, below + whole, -below - ONE)
    above = at - whole * np.trunc(at / whole)
    above = np.where(above >= size, whole - above - ONE, above)
    return np.where(at < 0, below, np.where(at > size - 1, above, at))


def _wrapped(at: Any, size: int) -> Any:
    """a b c d | a b c d | a b c d"""
    if size <= 1:
        return np.zeros_like(at)
    steps, whole = np.float32(size - 1), np.float32(size)
    below = at + whole * (np.trunc(-at / steps) + ONE)
    above = at - whole * np.trunc(at / steps)
    return np.where(at < 0, below, np.where(at > size - 1, above, at))


_FILLS: dict[str, Callable[[Any, int], Any]] = {
    "REFLECT": lambda at, size: np.clip(_reflected(at, size), 0, size - 1),
    "WRAP": lambda at, size: np.clip(_wrapped(at, size), 0, size - 1),
    "NEAREST": lambda at, size: np.clip(at, 0, size - 1),
    "CONSTANT": lambda at, size: at,
}


@host("ImageProjectiveTransformV2")
def image_projective_transform_v2(images, transforms, output_shape, *, interpolation, fill_mode):
    return _transform(images, transforms, output_shape, np.float32(0), interpolation, fill_mode)


@host("Addons>ImageProjectiveTransformV2")
def image_projective_transform_of_addons(images, transforms, output_shape, *, interpolation):
    return _transform(images, transforms, output_shape, np.float32(0), interpolation, "CONSTANT")


@host("ImageProjectiveTransformV3")
def image_projective_transform_v3(images, transforms, output_shape, fill_value, *, interpolation, fill_mode):
    if fill_value.ndim:
        raise RunFailed(f"fill_value must be a scalar, found shape {list(fill_value.shape)}")
    return _transform(images, transforms, output_shape, fill_value[()], interpolation, fill_mode)


def _transform(
    images: Any, transforms: Any, shape: Any, fill: Any, interpolation: str, fill_mode: str
) -> Any:
    if interpolation not in ("NEAREST", "BILINEAR") or fill_mode not in _FILLS:
        raise RunFailed(f"unsupported interpolation {interpolation} or fill_mode {fill_mode}")
    if images.ndim != 4 or transforms.ndim != 2 or transforms.shape[1] != 8 or shape.shape != (2,):
        raise RunFailed(
            "images must have 4 axes, transforms shape [n, 8] and output_shape 2 elements, "
            f"found shapes {list(images.shape)}, {list(transforms.shape)} and {list(shape.shape)}"
        )
    if transforms.shape[0] not in (1, images.shape[0]) or np.any(shape <= 0):
        raise RunFailed(
            "transforms must be 1 or as many as images, and output_shape must be positive, "
            f"found {len(transforms)} for {len(images)} images and output_shape {shape.tolist()}"
        )
    height, width = images.shape[1:3]
    x = np.arange(int(shape[1])).astype(np.float32)
    y = np.arange(int(shape[0])).astype(np.float32)[:, None]
    t = transforms[:, :, None, None]
    scale = t[:, 6] * x + t[:, 7] * y + ONE
    across = _FILLS[fill_mode]((t[:, 0] * x + t[:, 1] * y + t[:, 2]) / scale, width)
    down = _FILLS[fill_mode]((t[:, 3] * x + t[:, 4] * y + t[:, 5]) / scale, height)
    inside = (scale != 0) & np.isfinite(across) & np.isfinite(down)
    across, down = np.where(inside, across, 0), np.where(inside, down, 0)
    which = np.arange(images.shape[0])[:, None, None]
    filled = np.asarray(fill).astype(images.dtype)

    def read(rows: Any, columns: Any) -> Any:
        at_y, at_x = rows.astype(np.int64), columns.astype(np.int64)
        in_image = (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
        pixels = images[which, np.clip(at_y, 0, height - 1), np.clip(at_x, 0, width - 1)]
        return np.where(in_image[..., None], pixels, filled)

    if interpolation == "NEAREST":
        output = read(round_away(down), round_away(across))
    else:
        output = _mixed(read, down, across).astype(images.dtype)
    return np.where(inside[..., None], output, filled)


def _mixed(read: Callable[[Any, Any], Any], down: Any, across: Any) -> Any:
    top, left = np.floor(down), np.floor(across)
    bottom, right = top + ONE, left + ONE
    near, far = (right - across)[..., None], (across - left)[..., None]

    def row(at: Any) -> Any:
        return near * read(at, left).astype(np.float32) + far * read(at, right).astype(np.float32)

    return (bottom - down)[..., None] * row(top) + (down - top)[..., None] * row(bottom)
