"""Grayscale dilation, the maximum of each window plus a filter, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.pooling import lowest
from tfport.runtime.ops.nn.windows import DataLayout, Windows, windows
from tfport.runtime.ops.shared.precision import widen

_NHWC = DataLayout("NHWC")


def _windows(x: Any, w: Any, strides: Any, rates: Any, padding: str) -> Windows:
    if x.ndim != 4 or w.ndim != 3 or x.shape[-1] != w.shape[-1]:
        raise RunFailed(
            f"input and filter must have shapes (batch, height, width, channels) and "
            f"(height, width, channels), found {x.shape} and {w.shape}"
        )
    strides, rates = _NHWC.spatial_values(strides), _NHWC.spatial_values(rates, "rates")
    return windows(x.shape[1:-1], w.shape[:-1], strides, rates, padding)


def _dilated(x: Any, w: Any, win: Windows) -> tuple[Any, Any]:
    """The result, and the index of the first tap that gave each element."""
    inside = win.padded(np.ones((1, *win.sizes, 1), bool), False)
    padded = win.padded(x)
    best = np.full((len(x), *win.count, x.shape[-1]), lowest(x.dtype), x.dtype)
    first = np.full(best.shape, -1)
    for i, tap in enumerate(win.taps()):
        total = padded[win.slices(tap)] + w[tap]
        better = inside[win.slices(tap)] & (total > best)
        best, first = np.where(better, total, best), np.where(better, i, first)
    return best, first


@host("Dilation2D")
def dilation2d(input, filter, *, strides, rates, padding):
    x, w = widen(input), widen(filter)
    return _dilated(x, w, _windows(x, w, strides, rates, padding))[0]


@host("Dilation2DBackpropInput")
def dilation2d_backprop_input(input, filter, out_backprop, *, strides, rates, padding):
    x, w, dy = widen(input), widen(filter), widen(out_backprop)
    win = _windows(x, w, strides, rates, padding)
    first = _dilated(x, w, win)[1]
    out = np.zeros((len(x), *win.padded_sizes, x.shape[-1]), x.dtype)
    for i, tap in enumerate(win.taps()):
        out[win.slices(tap)] += np.where(first == i, dy, 0)
    return win.without_padding(out)


@host("Dilation2DBackpropFilter")
def dilation2d_backprop_filter(input, filter, out_backprop, *, strides, rates, padding):
    x, w, dy = widen(input), widen(filter), widen(out_backprop)
    win = _windows(x, w, strides, rates, padding)
    first = _dilated(x, w, win)[1]
    out = np.zeros(w.shape, x.dtype)
    for i, tap in enumerate(win.taps()):
        out[tap] = np.where(first == i, dy, 0).sum((0, 1, 2))
    return out
