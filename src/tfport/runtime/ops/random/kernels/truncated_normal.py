"""Normal numbers between bounds: three ways to propose them, each from where the last one stopped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random import distributions as draw
from tfport.runtime.ops.random.philox import Philox, from_seed, generator_of

_MOST_TRIES = 1000
_ENOUGH = 1.3
"""Standard deviations inside the bounds from which on normal numbers are proposed."""
_BATCH = 100


@host("StatelessParameterizedTruncatedNormal")
def stateless_parameterized(shape, seed, means, stddevs, minvals, maxvals):
    dims = draw.shape_of(shape)
    given = np.broadcast_arrays(means, stddevs, minvals, maxvals)
    batch = given[0].shape
    if dims[len(dims) - len(batch) :] != batch:
        raise RunFailed(f"the shape {list(dims)} must end with that of the parameters, {list(batch)}")
    if draw.size_of(dims) == 0:
        return np.empty(dims)
    each = draw.size_of(dims) // given[0].size
    rows = zip(*(g.reshape(-1) for g in given), [each] * given[0].size, strict=True)
    return _in_a_row(from_seed(seed), rows).reshape(-1, each).T.reshape(dims)


@host("ParameterizedTruncatedNormal")
def parameterized(shape, means, stdevs, minvals, maxvals, *, seed, seed2, context):
    dims = draw.shape_of(shape)
    if not dims:
        raise RunFailed("shape must not be empty")
    given = (means, stdevs, minvals, maxvals)
    if any(g.ndim > 1 for g in given):
        raise RunFailed("means, stddevs, minvals and maxvals must be scalars or vectors")
    total, batches = draw.size_of(dims), dims[0]
    each = draw.size_of(dims[1:])
    if means.size == 1 and stdevs.size == 1 and minvals.ndim == 0 and maxvals.ndim == 0:
        batches, each = -(-total // _BATCH), _BATCH
    elif any(g.size not in (1, batches) for g in given):
        raise RunFailed(f"the parameters must have 1 or {batches} elements")
    philox = generator_of(context, seed, seed2).reserve(batches * 2 * _MOST_TRIES * (each + 3) // 4)
    columns = (np.broadcast_to(g.reshape(-1), (batches,)) for g in given)
    counts = [min(each, total - i * each) for i in range(batches)]
    return _in_a_row(philox, zip(*columns, counts, strict=True), means.dtype).reshape(dims)


def _in_a_row(philox: Philox, rows: Iterator[Any], kind: Any = np.float32) -> Any:
    """The numbers of one set of parameters after the other, from one stream."""
    found, at = [np.empty(0, kind)], 0
    for mean, stddev, low, high, count in rows:
        if not (stddev > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
            raise RunFailed(
                "invalid parameters: needs stddev > 0 and minval < maxval, of which one is finite"
            )
        if (np.isinf(low) and low < 0) or high < mean:  # the lower bound is the one that matters
            low, high, stddev = high, low, -stddev
        least, most = (low - mean) / stddev, (high - mean) / stddev
        numbers, at = _normalised(philox, at, least, most, count)
        found.append(numbers * stddev + mean)
    return np.concatenate(found)


def _normalised(philox: Philox, at: int, least: Any, most: Any, count: int) -> tuple[Any, int]:
    """That many numbers in bounds, and the first block that none of them used."""
    kind = least.dtype.type
    step = 1
    root = np.sqrt(least * least + kind(4))
    cutoff = kind(2) * np.exp(kind(0.5) + (least * (least - root)) / kind(4)) / (least + root)
    enough = kind(_ENOUGH)
    if (least < -enough and most >= 0) or (most > enough and least <= 0):
        propose: Any = _normals
    elif most - least < cutoff:
        propose, step = _uniforms, 2
    else:
        propose = _exponentials
    accepted: list[Any] = [np.empty(0, kind)]
    missing, tries = count, 0
    while missing:
        rounds = missing // 2 + 4
        blocks = philox.skip(at).first(rounds * step)
        numbers, fits = propose(blocks, least, most)
        place = np.flatnonzero(fits.reshape(-1))[:missing]
        tries = 0 if place.size else tries + fits.size
        if tries > _MOST_TRIES:
            raise RunFailed("no number between the bounds was found in 1000 tries")
        accepted.append(numbers.reshape(-1)[place])
        missing -= place.size
        at += (rounds if missing else int(place[-1]) // fits.shape[1] + 1) * step
    return np.concatenate(accepted), at


def _normals(blocks: Any, least: Any, most: Any) -> tuple[Any, Any]:
    x = draw.as_normal(blocks, least.dtype)
    return x, (x >= least) & (x <= most)


def _uniforms(blocks: Any, least: Any, most: Any) -> tuple[Any, Any]:
    kind = least.dtype.type
    numbers = draw.as_uniform(blocks, kind)
    z = numbers[0::2] * (most - least) + least
    plus = kind(0) if least < 0 else least * least
    return z, numbers[1::2] <= np.exp((plus - z * z) / kind(2))


def _exponentials(blocks: Any, least: Any, most: Any) -> tuple[Any, Any]:
    kind = least.dtype.type
    numbers = draw.as_uniform(blocks, kind)
    alpha = (least + np.sqrt(least * least + kind(4))) / kind(2)
    z = -np.log(numbers[:, 0::2]) / alpha + least
    x = alpha - z if least < alpha else np.broadcast_to(least - alpha, z.shape)
    return z, (numbers[:, 1::2] <= np.exp(-x * x / kind(2))) & (z < most)
