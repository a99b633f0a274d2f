"""Truncated normal numbers, by rejection from one of three proposals."""

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
"""If the bounds reach this many standard deviations, propose normal numbers."""
_BATCH = 100


@host("StatelessParameterizedTruncatedNormal")
def stateless_parameterized(shape, seed, means, stddevs, minvals, maxvals):
    dims = draw.shape_of(shape)
    parameters = np.broadcast_arrays(means, stddevs, minvals, maxvals)
    batch = parameters[0].shape
    if dims[len(dims) - len(batch) :] != batch:
        raise RunFailed(f"shape {list(dims)} must end with the shape of the parameters, {list(batch)}")
    if draw.size_of(dims) == 0:
        return np.empty(dims)
    each = draw.size_of(dims) // parameters[0].size
    columns = (p.reshape(-1) for p in parameters)
    rows = zip(*columns, [each] * parameters[0].size, strict=True)
    return _draw(from_seed(seed), rows).reshape(-1, each).T.reshape(dims)


@host("ParameterizedTruncatedNormal")
def parameterized(shape, means, stdevs, minvals, maxvals, *, seed, seed2, context):
    dims = draw.shape_of(shape)
    if not dims:
        raise RunFailed("shape must not be empty")
    parameters = (means, stdevs, minvals, maxvals)
    if any(p.ndim > 1 for p in parameters):
        raise RunFailed(
            "means, stddevs, minvals and maxvals must be scalars or vectors, "
            f"found shapes {[list(p.shape) for p in parameters]}"
        )
    total, batches = draw.size_of(dims), dims[0]
    each = draw.size_of(dims[1:])
    if means.size == 1 and stdevs.size == 1 and minvals.ndim == 0 and maxvals.ndim == 0:
        batches, each = -(-total // _BATCH), _BATCH
    elif any(p.size not in (1, batches) for p in parameters):
        raise RunFailed(
            f"the parameters must have 1 or {batches} elements, found {[p.size for p in parameters]}"
        )
    philox = generator_of(context, seed, seed2).reserve(batches * 2 * _MOST_TRIES * (each + 3) // 4)
    columns = (np.broadcast_to(p.reshape(-1), (batches,)) for p in parameters)
    counts = [min(each, total - i * each) for i in range(batches)]
    return _draw(philox, zip(*columns, counts, strict=True), means.dtype).reshape(dims)


def _draw(philox: Philox, rows: Iterator[Any], dtype: Any = np.float32) -> Any:
    """Draw the numbers of each set of parameters in order, from one stream."""
    drawn, at = [np.empty(0, dtype)], 0
    for mean, stddev, low, high, count in rows:
        if not (stddev > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
            raise RunFailed(
                "stddev must be positive, and minval less than maxval, one of them finite; "
                f"found stddev {stddev}, minval {low}, maxval {high}"
            )
        if (np.isinf(low) and low < 0) or high < mean:  # mirror, so that the lower bound matters
            low, high, stddev = high, low, -stddev
        least, most = (low - mean) / stddev, (high - mean) / stddev
        numbers, at = _standard(philox, at, least, most, count)
        drawn.append(numbers * stddev + mean)
    return np.concatenate(drawn)


def _standard(philox: Philox, at: int, least: Any, most: Any, count: int) -> tuple[Any, int]:
    """`count` standard normal numbers in bounds, and the first unused block."""
    dtype = least.dtype.type
    step = 1
    root = np.sqrt(least * least + dtype(4))
    cutoff = dtype(2) * np.exp(dtype(0.5) + (least * (least - root)) / dtype(4)) / (least + root)
    enough = dtype(_ENOUGH)
    if (least < -enough and most >= 0) or (most > enough and least <= 0):
        propose: Any = _normals
    elif most - least < cutoff:
        propose, step = _uniforms, 2
    else:
        propose = _exponentials
    accepted: list[Any] = [np.empty(0, dtype)]
    missing, tries = count, 0
    while missing:
        rounds = missing // 2 + 4
        blocks = philox.skip(at).first(rounds * step)
        numbers, fits = propose(blocks, least, most)
        indices = np.flatnonzero(fits.reshape(-1))[:missing]
        tries = 0 if indices.size else tries + fits.size
        if tries > _MOST_TRIES:
            raise RunFailed(f"no number between the bounds was found in {_MOST_TRIES} tries")
        accepted.append(numbers.reshape(-1)[indices])
        missing -= indices.size
        at += (rounds if missing else int(indices[-1]) // fits.shape[1] + 1) * step
    return np.concatenate(accepted), at


def _normals(blocks: Any, least: Any, most: Any) -> tuple[Any, Any]:
    x = draw.as_normal(blocks, least.dtype)
    return x, (x >= least) & (x <= most)


def _uniforms(blocks: Any, least: Any, most: Any) -> tuple[Any, Any]:
    dtype = least.dtype.type
    numbers = draw.as_uniform(blocks, dtype)
    z = numbers[0::2] * (most - least) + least
    plus = dtype(0) if least < 0 else least * least
    return z, numbers[1::2] <= np.exp((plus - z * z) / dtype(2))


def _exponentials(blocks: Any, least: Any, most: Any) -> tuple[Any, Any]:
    dtype = least.dtype.type
    numbers = draw.as_uniform(blocks, dtype)
    alpha = (least + np.sqrt(least * least + dtype(4))) / dtype(2)
    z = -np.log(numbers[:, 0::2]) / alpha + least
    x = alpha - z if least < alpha else np.broadcast_to(least - alpha, z.shape)
    return z, (numbers[:, 1::2] <= np.exp(-x * x / dtype(2))) & (z < most)
