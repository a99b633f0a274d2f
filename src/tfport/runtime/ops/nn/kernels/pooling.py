"""Max and average pooling, max pooling with the index of each maximum, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import DataLayout, Windows, explicit_pads, windows
from tfport.runtime.ops.shared.precision import widen


def lowest(dtype: Any) -> Any:
    """The lowest finite value of a dtype."""
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min
    return ml_dtypes.finfo(dtype).min


def pool_windows(
    layout: DataLayout,
    x: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
) -> Windows:
    """The windows of a pooling of `x`, which has channels last."""
    kernel = layout.spatial_values(ksize, "window sizes")
    return windows(
        x.shape[1:-1], kernel, layout.spatial_values(strides), [1] * len(kernel), padding, explicit
    )


def window_maximum(x: Any, win: Windows) -> Any:
    """The maximum of each window; the lowest value for a window of padding only."""
    padded = win.padded(x, lowest(x.dtype))
    out = np.full((x.shape[0], *win.count, x.shape[-1]), lowest(x.dtype), x.dtype)
    for tap in win.taps():
        elements = padded[win.slices(tap)]
        out = np.where(elements > out, elements, out)  # ignores NaN, as TensorFlow does
    return out


def window_counts(win: Windows, dtype: Any) -> Any:
    """The number of elements of each window without padding, with an axis for channels."""
    inside = win.padded(np.ones((1, *win.sizes, 1), dtype))
    counts = np.zeros((1, *win.count, 1), dtype)
    for tap in win.taps():
        counts += inside[win.slices(tap)]
    return counts


def window_mean(x: Any, win: Windows) -> Any:
    """The mean of each window without padding."""
    padded = win.padded(x)
    total = np.zeros((x.shape[0], *win.count, x.shape[-1]), x.dtype)
    for tap in win.taps():
        total += padded[win.slices(tap)]
    return total / window_counts(win, x.dtype)


def max_pool(
    layout: DataLayout, x: Any, ksize: Any, strides: Any, padding: str, explicit_paddings: Sequence[int] = ()
) -> Any:
    inner = layout.to_channels_last(x)
    if ksize[layout.channel_axis] > 1:
        return _max_over_channels(x, ksize, strides, layout)
    win = pool_windows(layout, inner, ksize, strides, padding, explicit_pads(layout, explicit_paddings))
    return layout.from_channels_last(window_maximum(inner, win))


def _max_over_channels(x: Any, ksize: Any, strides: Any, layout: DataLayout) -> Any:
    """Max pooling across channels, whose windows must not overlap."""
    depth = ksize[layout.channel_axis]
    others = [n for i, n in enumerate(ksize) if i != layout.channel_axis]
    if layout.channel_axis != len(ksize) - 1 or max(others) > 1 or strides[layout.channel_axis] != depth:
        raise RunFailed(
            "pooling over channels requires channels last, spatial windows of 1 and strides equal to ksize, "
            f"found {layout.format}, ksize {list(ksize)} and strides {list(strides)}"
        )
    if x.shape[-1] % depth:
        raise RunFailed(f"the number of channels must be a multiple of {depth}, found {x.shape[-1]}")
    return x.reshape(*x.shape[:-1], -1, depth).max(axis=-1)


def avg_pool(layout: DataLayout, x: Any, ksize: Any, strides: Any, padding: str) -> Any:
    inner = widen(layout.to_channels_last(x))
    out = window_mean(inner, pool_windows(layout, inner, ksize, strides, padding))
    return layout.from_channels_last(out).astype(x.dtype, copy=False)


@host("MaxPool")
def max_pool_2d(input, *, ksize, strides, padding, explicit_paddings, data_format):
    return max_pool(DataLayout(data_format), input, ksize, strides, padding, explicit_paddings)


@host("MaxPoolV2")
def max_pool_v2(input, ksize, strides, *, padding, data_format):
    if ksize.shape != (4,) or strides.shape != (4,):
        raise RunFailed(f"ksize and strides must have shape (4,), found {ksize.shape} and {strides.shape}")
    return max_pool(DataLayout(data_format), input, ksize.tolist(), strides.tolist(), padding)


@host("MaxPool3D")
def max_pool_3d(input, *, ksize, strides, padding, data_format):
    return max_pool(DataLayout(data_format), input, ksize, strides, padding)


@host("AvgPool")
def avg_pool_2d(value, *, ksize, strides, padding, data_format):
    return avg_pool(DataLayout(data_format), value, ksize, strides, padding)


@host("AvgPool3D")
def avg_pool_3d(input, *, ksize, strides, padding, data_format):
    return avg_pool(DataLayout(data_format), input, ksize, strides, padding)


def window_argmax(x: Any, win: Windows, with_batch: bool) -> tuple[Any, Any]:
    """The maximum of each window, and its first index in the flattened image (or batch)."""
    batch, *sizes, channels = x.shape
    indices = np.arange(int(np.prod(x.shape[1:])), dtype=np.int64).reshape(1, *sizes, channels)
    padded, padded_indices = win.padded(x, lowest(x.dtype)), win.padded(indices, -1)
    out = np.full((batch, *win.count, channels), lowest(x.dtype), x.dtype)
    best = np.full(out.shape, -1, np.int64)
    for tap in win.taps():
        elements, index = padded[win.slices(tap)], padded_indices[win.slices(tap)]
        better = ((elements > out) | (best < 0)) & (index >= 0)
        out, best = np.where(better, elements, out), np.where(better, index, best)
    if with_batch:
        best = best + np.arange(batch).reshape(-1, *[1] * (x.ndim - 1)) * indices.size
    return out, best


@host("MaxPoolWithArgmax")
def max_pool_with_argmax(input, *, ksize, strides, Targmax, padding, include_batch_in_index):
    layout = DataLayout("NHWC")
    win = pool_windows(layout, layout.to_channels_last(input), ksize, strides, padding)
    return window_argmax(input, win, include_batch_in_index)


# Gradients


def _max_grad(
    layout: DataLayout, x: Any, y: Any, grad: Any, ksize: Any, strides: Any, padding: Any, pads: Any = ()
) -> Any:
    """Add the gradient of each window to its first maximum."""
    inner = layout.to_channels_last(x)
    win = pool_windows(layout, inner, ksize, strides, padding, pads)
    dy = layout.to_channels_last(grad)
    if dy.shape != (inner.shape[0], *win.count, inner.shape[-1]) or y.shape != grad.shape:
        raise RunFailed(f"the gradient has the wrong shape {grad.shape} for an input of shape {x.shape}")
    _, indices = window_argmax(inner, win, True)
    out = np.zeros(inner.size, widen(grad).dtype)
    np.add.at(out, indices.reshape(-1), widen(dy).reshape(-1))
    return layout.from_channels_last(out.reshape(inner.shape)).astype(x.dtype, copy=False)


@host("MaxPoolGrad")
def max_pool_grad(orig_input, orig_output, grad, *, ksize, strides, padding, explicit_paddings, data_format):
    layout = DataLayout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return _max_grad(layout, orig_input, orig_output, grad, ksize, strides, padding, pads)


@host("MaxPoolGradV2")
def max_pool_grad_v2(orig_input, orig_output, grad, ksize, strides, *, padding, data_format):
    return _max_grad(
        DataLayout(data_format), orig_input, orig_output, grad, ksize.tolist(), strides.tolist(), padding
    )


@host("MaxPool3DGrad")
def max_pool_3d_grad(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    return _max_grad(DataLayout(data_format), orig_input, orig_output, grad, ksize, strides, padding)


def _avg_grad(layout: DataLayout, shape: Any, grad: Any, ksize: Any, strides: Any, padding: str) -> Any:
    """Spread the gradient of each window evenly over its elements."""
    if len(shape) != layout.rank:
        raise RunFailed(f"orig_input_shape must have {layout.rank} elements, found {len(shape)}")
    sizes = [int(shape[i]) for i in layout.spatial_axes]
    kernel = layout.spatial_values(ksize, "window sizes")
    win: Windows = windows(sizes, kernel, layout.spatial_values(strides), [1] * len(kernel), padding)
    dy = widen(layout.to_channels_last(grad))
    if dy.shape != (shape[0], *win.count, shape[layout.channel_axis]):
        raise RunFailed(f"the gradient has the wrong shape {grad.shape} for an input of shape {tuple(shape)}")
    part = dy / window_counts(win, dy.dtype)
    out = np.zeros((dy.shape[0], *win.padded_sizes, dy.shape[-1]), dy.dtype)
    for tap in win.taps():
        out[win.slices(tap)] += part
    return layout.from_channels_last(win.without_padding(out)).astype(grad.dtype, copy=False)


@host("AvgPoolGrad AvgPool3DGrad")
def avg_pool_grad(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    return _avg_grad(DataLayout(data_format), orig_input_shape, grad, ksize, strides, padding)
