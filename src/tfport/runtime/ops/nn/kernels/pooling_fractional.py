"""Fractional pooling: windows of two sizes in an order from TensorFlow's random generator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import Context, host
from tfport.runtime.ops.random.philox import Generator, generator_of
from tfport.runtime.ops.shared.precision import widen


def _borders(size: int, count: int, random: Generator, pseudo: bool) -> Any:
    """The starts of all windows, and the end of the last."""
    steps = _pseudo_random_steps(size, count, random) if pseudo else _random_steps(size, count, random)
    return np.array([0, *np.cumsum(steps)], np.int64)


def _random_steps(size: int, count: int, random: Generator) -> list[int]:
    """Window sizes in random order."""
    short, longer = divmod(size, count)
    steps = [short + (i < longer) for i in range(count)]
    words = random.reserve(-(-count // 4)).words()
    for i in range(count - 1):
        j = i + next(words) % (count - i)
        steps[i], steps[j] = steps[j], steps[i]
    return steps


def _pseudo_random_steps(size: int, count: int, random: Generator) -> list[int]:
    """Window sizes at a fixed ratio from a random start, limited so that sizes differ by at most one."""
    ratio, short = size / count, size // count
    most = min((short + 2) / ratio - 1, (size + 1 - short) / ratio - (count - 1))
    words = random.reserve(1).words()
    high, low = next(words), next(words)
    start = ((high & 0xFFFFF) << 32 | low) / float(1 << 52) * most
    starts = [1, *(math.ceil(ratio * (i + start)) for i in range(1, count)), size + 1]
    return [b - a for a, b in itertools.pairwise(starts)]


def _pooled(
    x: Any, ratios: Sequence[float], pseudo: bool, overlapping: bool, random: Generator, reduce: Any
) -> tuple[Any, Any, Any]:
    if x.ndim != 4:
        raise RunFailed(f"the input must have 4 axes, found {x.ndim}")
    if len(ratios) != 4 or ratios[0] != 1 or ratios[3] != 1 or min(ratios) < 1:
        raise RunFailed(
            f"pooling_ratio must be 1 for batch and channels and at least 1 elsewhere, found {ratios}"
        )
    counts = [math.floor(n / r) for n, r in zip(x.shape, ratios, strict=True)]
    if min(counts) < 1:
        raise RunFailed(f"pooling_ratio {ratios} gives an empty output for an input of shape {x.shape}")
    rows = _borders(x.shape[1], counts[1], random, pseudo)
    columns = _borders(x.shape[2], counts[2], random, pseudo)
    out = _pool_axis(_pool_axis(widen(x), 1, rows, overlapping, reduce), 2, columns, overlapping, reduce)
    return out, rows, columns


def _pool_axis(x: Any, axis: int, borders: Any, overlapping: bool, reduce: Any) -> Any:
    spans = zip(borders[:-1], _ends(borders, overlapping), strict=True)
    return np.stack([reduce(x.take(range(a, b), axis), axis) for a, b in spans], axis)


def _ends(borders: Any, overlapping: bool) -> Any:
    return np.minimum(borders[1:] + overlapping, borders[-1])


def _generator(context: Context, deterministic: bool, seed: int, seed2: int) -> Generator:
    """A generator that continues across runs, or one that restarts at each run if deterministic."""
    return Generator(seed, seed2) if deterministic else generator_of(context, seed, seed2)


@host("FractionalMaxPool")
def fractional_max_pool(
    value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, context
):
    random = _generator(context, deterministic, seed, seed2)
    return _pooled(value, pooling_ratio, pseudo_random, overlapping, random, np.max)


@host("FractionalAvgPool")
def fractional_avg_pool(
    value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, context
):
    random = _generator(context, deterministic, seed, seed2)
    total, rows, columns = _pooled(value, pooling_ratio, pseudo_random, overlapping, random, np.sum)
    heights, widths = (_ends(borders, overlapping) - borders[:-1] for borders in (rows, columns))
    mean = total / np.multiply.outer(heights, widths)[:, :, None].astype(total.dtype)
    return np.trunc(mean) if value.dtype.kind in "iu" else mean, rows, columns
