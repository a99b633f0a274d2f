"""Largest and mean of windows, with and without where the largest stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import Layout, Windows, explicit_pads, windows
from tfport.runtime.ops.shared.precision import widen


def lowest(dtype: Any) -> Any:
    """The number that no other is below."""
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min
    return ml_dtypes.finfo(dtype).min


def pool_windows(
    layout: Layout,
    x: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
) -> Windows:
    """The windows of a pooling over `x` with channels last."""
    kernel, steps = layout.spatial(ksize, "window sizes"), layout.spatial(strides)
    return windows(x.shape[1:-1], kernel, steps, [1] * len(kernel), padding, explicit)


def largest(x: Any, win: Windows) -> Any:
    """The largest of each window; one that lies in the padding alone has the lowest number there is."""
    padded = win.padded(x, lowest(x.dtype))
    out = np.full((x.shape[0], *win.count, x.shape[-1]), lowest(x.dtype), x.dtype)
    for tap in win.taps():
        seen = padded[win.slices(tap)]
        out = np.where(seen > out, seen, out)  # passes over NaN, as TensorFlow does
    return out


def window_counts(win: Windows, dtype: Any) -> Any:
    """How many cells of each window are no padding, with an axis for channels."""
    inside = win.padded(np.ones((1, *win.sizes, 1), dtype))
    counts = np.zeros((1, *win.count, 1), dtype)
    for tap in win.taps():
        counts += inside[win.slices(tap)]
    return counts


def mean(x: Any, win: Windows) -> Any:
    """The mean of what is no padding in each window."""
    padded = win.padded(x)
    total = np.zeros((x.shape[0], *win.count, x.shape[-1]), x.dtype)
    for tap in win.taps():
        total += padded[win.slices(tap)]
    return total / window_counts(win, x.dtype)


def max_pool(
    layout: Layout, x: Any, ksize: Any, strides: Any, padding: str, explicit_paddings: Sequence[int] = ()
) -> Any:
    inner = layout.last(x)
    if ksize[layout.channel] > 1:
        return _over_channels(x, ksize, strides, layout)
    win = pool_windows(layout, inner, ksize, strides, padding, explicit_pads(layout, explicit_paddings))
    return layout.back(largest(inner, win))


def _over_channels(x: Any, ksize: Any, strides: Any, layout: Layout) -> Any:
    """Pooling of neighbouring channels, which must share their windows among them."""
    depth = ksize[layout.channel]
    others = [n for i, n in enumerate(ksize) if i != layout.channel]
    if layout.channel != len(ksize) - 1 or max(others) > 1 or strides[layout.channel] != depth:
        raise RunFailed("pooling over channels takes windows beside one another, and none in space")
    if x.shape[-1] % depth:
        raise RunFailed(f"windows of {depth} do not divide {x.shape[-1]} channels")
    return x.reshape(*x.shape[:-1], -1, depth).max(axis=-1)


def avg_pool(layout: Layout, x: Any, ksize: Any, strides: Any, padding: str) -> Any:
    inner = widen(layout.last(x))
    answer = mean(inner, pool_windows(layout, inner, ksize, strides, padding))
    return layout.back(answer).astype(x.dtype, copy=False)


@host("MaxPool")
def max_pool_2d(input, *, ksize, strides, padding, explicit_paddings, data_format):
    return max_pool(Layout(data_format), input, ksize, strides, padding, explicit_paddings)


@host("MaxPoolV2")
def max_pool_v2(input, ksize, strides, *, padding, data_format):
    if ksize.shape != (4,) or strides.shape != (4,):
        raise RunFailed("window sizes and strides must be vectors of 4")
    return max_pool(Layout(data_format), input, ksize.tolist(), strides.tolist(), padding)


@host("MaxPool3D")
def max_pool_3d(input, *, ksize, strides, padding, data_format):
    return max_pool(Layout(data_format), input, ksize, strides, padding)


@host("AvgPool")
def avg_pool_2d(value, *, ksize, strides, padding, data_format):
    return avg_pool(Layout(data_format), value, ksize, strides, padding)


@host("AvgPool3D")
def avg_pool_3d(input, *, ksize, strides, padding, data_format):
    return avg_pool(Layout(data_format), input, ksize, strides, padding)


def places_of_largest(x: Any, win: Windows, with_batch: bool) -> tuple[Any, Any]:
    """The largest of each window, and its place in the flat image (or batch): the first of equals."""
    batch, *sizes, channels = x.shape
    places = np.arange(int(np.prod(x.shape[1:])), dtype=np.int64).reshape(1, *sizes, channels)
    padded, where = win.padded(x, lowest(x.dtype)), win.padded(places, -1)
    out = np.full((batch, *win.count, channels), lowest(x.dtype), x.dtype)
    at = np.full(out.shape, -1, np.int64)
    for tap in win.taps():
        seen, place = padded[win.slices(tap)], where[win.slices(tap)]
        better = ((seen > out) | (at < 0)) & (place >= 0)
        out, at = np.where(better, seen, out), np.where(better, place, at)
    if with_batch:
        at = at + np.arange(batch).reshape(-1, *[1] * (x.ndim - 1)) * places.size
    return out, at


@host("MaxPoolWithArgmax")
def max_pool_with_argmax(input, *, ksize, strides, Targmax, padding, include_batch_in_index):
    layout = Layout("NHWC")
    win = pool_windows(layout, layout.last(input), ksize, strides, padding)
    return places_of_largest(input, win, include_batch_in_index)
