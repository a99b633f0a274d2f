"""Local response normalization across channels, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen


def _sum_of_neighbors(x: Any, radius: int) -> Any:
    """The sum of the channels at most `radius` away."""
    depth = x.shape[-1]
    radius = min(radius, depth)
    total = np.concatenate([np.zeros((*x.shape[:-1], 1), np.float64), np.cumsum(x, -1, np.float64)], -1)
    at = np.arange(depth)
    last, first = np.minimum(at + radius + 1, depth), np.maximum(at - radius, 0)
    return (total[..., last] - total[..., first]).astype(x.dtype)


@host("LRN")
def local_response_normalization(input, *, depth_radius, bias, alpha, beta):
    if input.ndim != 4:
        raise RunFailed(f"the input must have 4 axes, found {input.ndim}")
    x = widen(input)
    return x * (bias + alpha * _sum_of_neighbors(x * x, depth_radius)) ** np.float32(-beta)


@host("LRNGrad")
def local_response_gradient(input_grads, input_image, output_image, *, depth_radius, bias, alpha, beta):
    grads, x, y = (widen(a) for a in (input_grads, input_image, output_image))
    norm = bias + alpha * _sum_of_neighbors(x * x, depth_radius)
    shared = _sum_of_neighbors(grads * y / norm, depth_radius)
    return grads * norm ** np.float32(-beta) - 2 * alpha * beta * x * shared
