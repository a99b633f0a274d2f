"""Gradients of max and average pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.pooling import pool_windows, window_argmax, window_counts
from tfport.runtime.ops.nn.windows import DataLayout, Windows, explicit_pads, windows
from tfport.runtime.ops.shared.precision import widen


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
