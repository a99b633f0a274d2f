"""Fake quantization: round floats to the steps of a range that includes zero; and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.quantized.ranges import round_away, scalar


def nudged(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """Move the range so that zero is a step; also the size of a step."""
    first, last = np.float32(narrow_range), np.float32((1 << num_bits) - 1)
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    scale = (high - low) / (last - first)
    zero = np.clip(round_away(first - low / scale), first, last).astype(np.float32)
    return (first - zero) * scale, (last - zero) * scale, scale


def _snapped(x: Any, low: Any, high: Any, num_bits: int, narrow_range: bool, by_step: bool = False) -> Any:
    """Round to steps. `by_step` divides by the step size, which rounds some halves differently."""
    start, end, scale = nudged(low, high, num_bits, narrow_range)
    moved = np.clip(x, start, end) - start
    per_unit = np.float32((1 << num_bits) - 1 - narrow_range) / (high - low)
    steps = np.floor((moved / scale if by_step else moved * per_unit) + np.float32(0.5))
    # an empty range has no steps: TensorFlow returns zero
    return np.where((low == 0) & (high == 0), np.float32(0), steps * scale + start)


@host("FakeQuantWithMinMaxArgs")
def with_args(inputs, *, min, max, num_bits, narrow_range):
    return _snapped(inputs, np.float32(min), np.float32(max), num_bits, narrow_range)


@host("FakeQuantWithMinMaxVars")
def with_vars(inputs, min, max, *, num_bits, narrow_range):
    return _snapped(inputs, scalar(min), scalar(max), num_bits, narrow_range, by_step=True)


@host("FakeQuantWithMinMaxVarsPerChannel")
def with_vars_per_channel(inputs, min, max, *, num_bits, narrow_range):
    _check(inputs, min, max)
    return _snapped(inputs, min, max, num_bits, narrow_range)


def _check(x: Any, low: Any, high: Any) -> None:
    if not x.ndim or low.shape != x.shape[-1:] or high.shape != x.shape[-1:]:
        raise RunFailed(
            f"ranges {list(low.shape)} and {list(high.shape)} do not match inputs {list(x.shape)}"
        )


def _gradients(grads: Any, x: Any, low: Any, high: Any, num_bits: int, narrow_range: bool, axes: Any) -> Any:
    """Gradients of the input and of both ends of the range."""
    if grads.shape != x.shape:
        raise RunFailed(f"gradients {list(grads.shape)} do not match inputs {list(x.shape)}")
    start, end, _ = nudged(low, high, num_bits, narrow_range)
    nothing = (low == 0) & (high == 0)
    below, above = (x < start) & ~nothing, (x > end) & ~nothing
    inside = ~below & ~above & ((x >= start) & (x <= end) | nothing)
    return (
        np.where(inside, grads, np.float32(0)),
        np.where(below, grads, np.float32(0)).sum(axes),
        np.where(above, grads, np.float32(0)).sum(axes),
    )


@host("FakeQuantWithMinMaxArgsGradient")
def with_args_gradient(gradients, inputs, *, min, max, num_bits, narrow_range):
    return _gradients(gradients, inputs, np.float32(min), np.float32(max), num_bits, narrow_range, None)[0]


@host("FakeQuantWithMinMaxVarsGradient")
def with_vars_gradient(gradients, inputs, min, max, *, num_bits, narrow_range):
    return _gradients(gradients, inputs, scalar(min), scalar(max), num_bits, narrow_range, None)


@host("FakeQuantWithMinMaxVarsPerChannelGradient")
def with_vars_per_channel_gradient(gradients, inputs, min, max, *, num_bits, narrow_range):
    _check(inputs, min, max)
    axes = tuple(range(inputs.ndim - 1))
    return _gradients(gradients, inputs, min, max, num_bits, narrow_range, axes)
