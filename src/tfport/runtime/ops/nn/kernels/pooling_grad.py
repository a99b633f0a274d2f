"""Pooling backwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.pooling import places_of_largest, pool_windows, window_counts
from tfport.runtime.ops.nn.windows import Layout, Windows, explicit_pads, windows
from tfport.runtime.ops.shared.precision import widen


def _max_grad(
    layout: Layout, x: Any, y: Any, grad: Any, ksize: Any, strides: Any, padding: Any, pads: Any = ()
) -> Any:
    """Each window gives what it got to its first largest cell."""
    inner = layout.last(x)
    win = pool_windows(layout, inner, ksize, strides, padding, pads)
    given = layout.last(grad)
    if given.shape != (inner.shape[0], *win.count, inner.shape[-1]) or y.shape != grad.shape:
        raise RunFailed(f"the gradient of {x.shape} cannot have the shape {grad.shape}")
    _, at = places_of_largest(inner, win, True)
    out = np.zeros(inner.size, widen(grad).dtype)
    np.add.at(out, at.reshape(-1), widen(given).reshape(-1))
    return layout.back(out.reshape(inner.shape)).astype(x.dtype, copy=False)


@host("MaxPoolGrad")
def max_pool_grad(orig_input, orig_output, grad, *, ksize, strides, padding, explicit_paddings, data_format):
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return _max_grad(layout, orig_input, orig_output, grad, ksize, strides, padding, pads)


@host("MaxPoolGradV2")
def max_pool_grad_v2(orig_input, orig_output, grad, ksize, strides, *, padding, data_format):
    return _max_grad(
        Layout(data_format), orig_input, orig_output, grad, ksize.tolist(), strides.tolist(), padding
    )


@host("MaxPool3DGrad")
def max_pool_3d_grad(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    return _max_grad(Layout(data_format), orig_input, orig_output, grad, ksize, strides, padding)


def _avg_grad(layout: Layout, shape: Any, grad: Any, ksize: Any, strides: Any, padding: str) -> Any:
    """Each window gives what it got to its cells in equal parts."""
    if len(shape) != len(layout.text):
        raise RunFailed(f"expected {len(layout.text)} sizes of the input, found {len(shape)}")
    sizes = [int(shape[i]) for i in layout.space]
    kernel, steps = layout.spatial(ksize, "window sizes"), layout.spatial(strides)
    win: Windows = windows(sizes, kernel, steps, [1] * len(kernel), padding)
    given = widen(layout.last(grad))
    if given.shape != (shape[0], *win.count, shape[layout.channel]):
        raise RunFailed(f"the gradient of {tuple(shape)} cannot have the shape {grad.shape}")
    part = given / window_counts(win, given.dtype)
    out = np.zeros((given.shape[0], *win.padded_sizes, given.shape[-1]), given.dtype)
    for tap in win.taps():
        out[win.slices(tap)] += part
    return layout.back(win.inside(out)).astype(grad.dtype, copy=False)


@host("AvgPoolGrad AvgPool3DGrad")
def avg_pool_grad(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    return _avg_grad(Layout(data_format), orig_input_shape, grad, ksize, strides, padding)
