"""Patches of images and volumes, glimpses of images, and their parts: connected pixels, distances to zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _patches(x: Any, sizes: list[int], strides: list[int], rates: list[int], padding: str) -> Any:
    """All windows over the axes between the first and the last, each flattened into the last axis."""
    spans = [(k - 1) * r + 1 for k, r in zip(sizes, rates, strict=True)]
    pads = [(0, 0)]
    for n, span, step in zip(x.shape[1:-1], spans, strides, strict=True):
        if padding == "SAME":
            missing = max((-(-n // step) - 1) * step + span - n, 0)
        elif padding == "VALID":
            missing = 0
        else:
            raise RunFailed(f"padding must be SAME or VALID, found {padding}")
        pads.append((missing // 2, missing - missing // 2))
    counts = [
        -(-n // step) if padding == "SAME" else _valid_count(n, span, step)
        for n, span, step in zip(x.shape[1:-1], spans, strides, strict=True)
    ]
    if 0 in counts:  # the window is just larger than the image, or the image is empty
        return np.zeros((x.shape[0], *counts, int(np.prod(sizes)) * x.shape[-1]), x.dtype)
    padded = np.pad(x, [*pads, (0, 0)])
    axes = tuple(range(1, x.ndim - 1))
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=axes)
    windows = windows[(slice(None), *(slice(None, None, s) for s in strides))]
    steps: tuple[Any, ...] = (..., *(slice(None, None, r) for r in rates))
    windows = windows[steps]
    moved = np.moveaxis(windows, len(axes) + 1, -1)  # channels after the positions in the window
    return moved.reshape(*moved.shape[: len(axes) + 1], int(np.prod(sizes)) * x.shape[-1])


def _valid_count(size: int, span: int, step: int) -> int:
    """The number of windows that fit; TensorFlow divides toward zero and rejects only a negative result."""
    count = int((size - span + step) / step)
    if count < 0:
        raise RunFailed(f"a window of size {span} is larger than the image, {size}")
    return count


def _inner(values: list[int], rank: int, what: str) -> list[int]:
    if len(values) != rank or values[0] != 1 or values[-1] != 1 or min(values) < 1:
        raise RunFailed(
            f"{what} must be {rank} positive integers, the first and last of them 1, found {values}"
        )
    return list(values[1:-1])


@host("ExtractImagePatches")
def extract_image_patches(images, *, ksizes, strides, rates, padding):
    if images.ndim != 4:
        raise RunFailed(f"images must have 4 axes, found shape {list(images.shape)}")
    sizes, steps = _inner(ksizes, 4, "ksizes"), _inner(strides, 4, "strides")
    return _patches(images, sizes, steps, _inner(rates, 4, "rates"), padding)


@host("ExtractVolumePatches")
def extract_volume_patches(input, *, ksizes, strides, padding):
    if input.ndim != 5:
        raise RunFailed(f"input must have 5 axes, found shape {list(input.shape)}")
    return _patches(input, _inner(ksizes, 5, "ksizes"), _inner(strides, 5, "strides"), [1, 1, 1], padding)


@host("ExtractGlimpse")
def extract_glimpse(input, size, offsets, *, centered, normalized, uniform_noise, noise):
    return _glimpses(input, size, offsets, centered, normalized, _noise(uniform_noise, noise), True)


@host("ExtractGlimpseV2")
def extract_glimpse_v2(input, size, offsets, *, centered, normalized, uniform_noise, noise):
    return _glimpses(input, size, offsets, centered, normalized, _noise(uniform_noise, noise), False)


def _noise(uniform: bool, noise: str) -> str:
    if uniform and noise not in ("uniform", ""):
        raise RunFailed(f"uniform_noise cannot be combined with noise={noise}")
    if noise not in ("uniform", "gaussian", "zero", ""):
        raise RunFailed(f"noise must be uniform, gaussian or zero, found {noise}")
    return "uniform" if uniform else noise or "gaussian"


def _glimpses(
    x: Any, size: Any, offsets: Any, centered: bool, normalized: bool, noise: str, middle: bool
) -> Any:
    if x.ndim != 4 or size.shape != (2,) or offsets.shape != (x.shape[0], 2):
        raise RunFailed(
            "input must have 4 axes, size 2 elements, and offsets 2 elements for each image, "
            f"found shapes {list(x.shape)}, {list(size.shape)} and {list(offsets.shape)}"
        )
    out_size = [int(n) for n in size]
    if min(out_size) < 0:
        raise RunFailed(f"size must not be negative, found {out_size}")
    out = np.empty((x.shape[0], *out_size, x.shape[3]), np.float32)
    for i, (image, offset) in enumerate(zip(x, offsets, strict=True)):
        starts = [
            _start(offset[k], image.shape[k], out_size[k], centered, normalized, middle) for k in (0, 1)
        ]
        out[i] = _glimpse(image, starts, out_size, noise)
    return out


def _start(at: Any, in_size: int, out_size: int, centered: bool, normalized: bool, middle: bool) -> int:
    """Where a glimpse begins along an axis, computed in float32.

    In the first version of the op, offsets are always those of the middle of the glimpse; in the
    second only if they are both centered and normalized.
    """
    two, whole, part = np.float32(2), np.float32(in_size), np.float32(out_size)
    if normalized:
        at = at * whole
    if centered:
        at = at / two + whole / two if normalized or middle else at + whole / two
    if middle or (centered and normalized):
        at = at - part / two
    return int(at)


def _glimpse(image: Any, starts: list[int], out_size: list[int], noise: str) -> Any:
    spans = [
        range(max(s, 0), min(s + n, image.shape[k]))
        for k, (s, n) in enumerate(zip(starts, out_size, strict=True))
    ]
    out = _background(image, out_size, noise)
    if all(len(span) for span in spans):
        rows, columns = spans
        out[
            rows.start - starts[0] : rows.stop - starts[0],
            columns.start - starts[1] : columns.stop - starts[1],
        ] = image[rows.start : rows.stop, columns.start : columns.stop]
    return out


def _background(image: Any, out_size: list[int], noise: str) -> Any:
    """The pixels of a glimpse outside of its image; TensorFlow also seeds the noise from the clock."""
    shape, generator = (*out_size, image.shape[2]), np.random.default_rng()
    low, high = image.min((0, 1)), image.max((0, 1))
    if noise == "zero":
        return np.zeros(shape, np.float32)
    if noise == "uniform":
        return (low.min() + generator.random(shape, np.float32) * (high.max() - low.min())).astype(np.float32)
    samples = image.mean((0, 1)) + generator.standard_normal(shape, np.float32) * image.std((0, 1))
    return np.clip(samples, low, high).astype(np.float32)


# Parts of images


@host("Addons>EuclideanDistanceTransform EuclideanDistanceTransform")
def euclidean_distance_transform(images, *, dtype):
    """How far each pixel is from the nearest zero of its image and channel."""
    if images.ndim != 4:
        raise RunFailed(f"Input images must have rank 4, found shape {list(images.shape)}")
    most = np.finfo(dtype.numpy).max
    height, width = images.shape[1:3]
    rows = np.arange(height)[:, None, None]
    zero = images == 0
    above = np.maximum.accumulate(np.where(zero, rows, -np.inf), 1)
    below = np.minimum.accumulate(np.where(zero, rows, np.inf)[:, ::-1], 1)[:, ::-1]
    vertical = np.square(np.minimum(rows - above, below - rows))
    squares = np.full(images.shape, np.inf)
    for column in range(width):
        across = np.square(np.arange(width) - column)[:, None]
        np.minimum(squares, vertical[:, :, column : column + 1] + across, out=squares)
    return np.sqrt(np.minimum(squares, most)).astype(dtype.numpy)


@host("Addons>ImageConnectedComponents ImageConnectedComponents")
def image_connected_components(image):
    """Number the areas of equal pixels that are not zero: pixels of an area have one number, zeros have 0."""
    if image.ndim != 3:
        raise RunFailed(f"Input images must have rank 3, found shape {list(image.shape)}")
    number = image.shape[1] * image.shape[2]
    areas = np.zeros(image.shape, np.int64)
    for index, pixels in enumerate(image):
        roots = _roots(pixels).reshape(pixels.shape) + index * number + 1
        areas[index] = np.where(_is_zero(pixels), 0, roots)
    return areas


def _is_zero(pixels: Any) -> Any:
    return pixels == (b"" if pixels.dtype == object else pixels.dtype.type(0))


def _roots(pixels: Any) -> Any:
    """The index of one pixel of each area, the one that joining ever larger blocks leads to."""
    height, width = pixels.shape
    parent, rank = list(range(pixels.size)), [0] * pixels.size
    present = ~_is_zero(pixels)
    right = (pixels[:, :-1] == pixels[:, 1:]) & present[:, 1:]
    down = (pixels[:-1] == pixels[1:]) & present[1:]

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = at = parent[parent[at]]
        return at

    def join(a: int, b: int) -> None:
        a, b = root(a), root(b)
        if a == b:
            return
        if rank[a] < rank[b]:  # the tree of less rank gets the other: so has TensorFlow Addons
            parent[b] = a
        else:
            parent[a] = b
            rank[b] += 1

    step = 1
    while step < max(height, width):
        for x in range(step - 1, width - 1, 2 * step):
            for y in np.flatnonzero(right[:, x]).tolist():
                join(y * width + x, y * width + x + 1)
        for y in range(step - 1, height - 1, 2 * step):
            for x in np.flatnonzero(down[y]).tolist():
                join(y * width + x, (y + 1) * width + x)
        step *= 2
    return np.array([root(at) for at in range(pixels.size)], np.int64)
