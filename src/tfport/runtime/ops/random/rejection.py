"""Gamma, Poisson and binomial numbers by rejection sampling, as TensorFlow draws them.

Each function takes the parameter of every output and returns float64. All outputs try at once;
those that are rejected try again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.random.distributions import RESERVED, Buffer, Streams, as_normal, as_uniform
from tfport.runtime.ops.random.philox import Philox

_STIRLING = np.array([
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
])  # fmt: skip
"""The error of Stirling's formula for log k!, for k below 10."""


def offsets(size: int, reserved: int = RESERVED) -> Any:
    return np.arange(size, dtype=np.uint64) * np.uint64(reserved)


def per_parameter(parameters: Any, dims: tuple[int, ...]) -> tuple[Any, int]:
    """The parameter of each output in stream order, and how many outputs share one.

    Outputs of one parameter are adjacent in the stream and apart in the result, whose shape ends
    with that of the parameters.
    """
    if dims[len(dims) - parameters.ndim :] != parameters.shape:
        raise RunFailed(
            f"shape {list(dims)} must end with the shape of the parameters, {list(parameters.shape)}"
        )
    if parameters.size == 0:
        raise RunFailed("the parameters must have at least one element")
    each = int(np.prod(dims, dtype=np.int64)) // parameters.size
    return np.repeat(np.asarray(parameters).reshape(-1).astype(np.float64), each), each


def laid_out(drawn: Any, each: int, dims: tuple[int, ...]) -> Any:
    return drawn.reshape(-1, each).T.reshape(dims)


def gamma(philox: Philox, alpha: Any) -> Any:
    """Marsaglia and Tsang's method; for alpha < 1 through alpha + 1."""
    streams = Streams(philox, offsets(alpha.size))
    normals = Buffer(streams, as_normal, np.float64)
    uniforms = Buffer(streams, as_uniform, np.float64)
    small = alpha < 1
    d = alpha + np.where(small, 2 / 3, -1 / 3)
    c = 1 / 3 / np.sqrt(d)
    out = np.empty(alpha.size)
    plain = np.flatnonzero(alpha == 1)
    out[plain] = -np.log1p(-uniforms.take(plain))
    pending = np.flatnonzero(alpha != 1)
    while pending.size:
        x = normals.take(pending)
        v = 1 + c[pending] * x
        out_of_range = v <= 0
        trying = pending[~out_of_range]
        x, v = x[~out_of_range], v[~out_of_range] ** 3
        u = uniforms.take(trying)
        fits = u < 1 - 0.0331 * (x * x) * (x * x)
        fits |= np.log(u) < 0.5 * x * x + d[trying] * (1 - v + np.log(v))
        done = trying[fits]
        out[done] = d[done] * v[fits]
        raised = done[small[done]]
        out[raised] *= uniforms.take(raised) ** (1 / alpha[raised])
        pending = np.sort(np.concatenate([pending[out_of_range], trying[~fits]]))
    return out


def poisson(philox: Philox, rate: Any) -> Any:
    """Knuth's product for rates below 10, else Hörmann's transformed rejection."""
    uniforms = Buffer(Streams(philox, offsets(rate.size)), as_uniform, np.float64)
    out = np.where(np.isinf(rate) & (rate > 0), np.inf, np.nan)
    few = np.flatnonzero(rate < 10)
    many = np.flatnonzero((rate >= 10) & np.isfinite(rate))
    _count_products(uniforms, rate, few, out)
    _transform(uniforms, rate, many, out)
    return out


def _count_products(uniforms: Buffer, rate: Any, pending: Any, out: Any) -> None:
    limit, product = np.exp(-rate), np.ones(rate.size)
    out[pending] = 0
    while pending.size:
        product[pending] *= uniforms.take(pending)
        pending = pending[product[pending] > limit[pending]]
        out[pending] += 1


def _transform(uniforms: Buffer, rate: Any, pending: Any, out: Any) -> None:
    from scipy.special import gammaln

    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while pending.size:
        u = uniforms.take(pending) - 0.5
        v = uniforms.take(pending)
        r, a_, b_ = rate[pending], a[pending], b[pending]
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a_ / shifted + b_) * u + r + 0.43)
        fits = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b_ - 2))
        rejected = (k < 0) | ((shifted < 0.013) & (v > shifted))
        left = np.log(v * inverse_alpha[pending] / (a_ / (shifted * shifted) + b_))
        fits |= ~rejected & (left <= -r + k * np.log(r) - gammaln(k + 1))
        out[pending[fits]] = k[fits]
        pending = pending[~fits]


def binomial(philox: Philox, count: Any, prob: Any, dtype: Any) -> Any:
    """Geometric steps if few successes are expected, else Hörmann's rejection; `kind` is the input type."""
    out = np.full(count.size, np.nan)
    zero = (count <= 0) | (prob <= 0)
    flipped = ~zero & (prob > 0.5)
    rare = np.where(flipped, (np.ones((), dtype) - prob.astype(dtype)).astype(np.float64), prob)
    expected = (count.astype(dtype) * rare.astype(dtype)).astype(np.float64)
    random = ~zero & (prob < 1)
    out[zero] = 0
    sure = ~zero & (prob >= 1)
    out[sure] = count[sure]
    _geometric(philox, count, rare, np.flatnonzero(random & (expected < 10)), out)
    _btrs(philox, count, rare, np.flatnonzero(random & (expected >= 10)), out)
    back = random & flipped
    out[back] = count[back] - out[back]
    return out


def _geometric(philox: Philox, count: Any, prob: Any, pending: Any, out: Any) -> None:
    uniforms = Buffer(Streams(philox, offsets(count.size, 42)), as_uniform, np.float64)
    reached = np.zeros(count.size)
    out[pending] = 0
    while pending.size:
        reached[pending] += np.ceil(np.log(uniforms.take(pending)) / np.log1p(-prob[pending]))
        pending = pending[reached[pending] <= count[pending]]
        out[pending] += 1


def _btrs(philox: Philox, count: Any, prob: Any, pending: Any, out: Any) -> None:
    uniforms = Buffer(Streams(philox, offsets(count.size)), as_uniform, np.float64)
    while pending.size:
        n, p = count[pending], prob[pending]
        stddev = np.sqrt(n * p * (1 - p))
        b = 1.15 + 2.53 * stddev
        a = -0.0873 + 0.0248 * b + 0.01 * p
        r, alpha, m = p / (1 - p), (2.83 + 5.1 / b) * stddev, np.floor((n + 1) * p)
        u = uniforms.take(pending)
        v = uniforms.take(pending)
        u = u - 0.5
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a / us + b) * u + n * p + 0.5)
        fits = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
        inside = (k >= 0) & (k <= n)
        inner = np.where(inside, k, 0)
        bound = (
            (m + 0.5) * np.log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * np.log((n - m + 1) / (n - inner + 1))
            + (inner + 0.5) * np.log(r * (n - inner + 1) / (inner + 1))
            + (_tail(m) + _tail(n - m) - _tail(inner) - _tail(n - inner))
        )
        fits |= inside & (np.log(v * alpha / (a / (us * us) + b)) <= bound)
        out[pending[fits]] = k[fits]
        pending = pending[~fits]


def _tail(k: Any) -> Any:
    square = (k + 1) * (k + 1)
    far = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return np.where(k <= 9, _STIRLING[np.clip(k, 0, 9).astype(np.int64)], far)
