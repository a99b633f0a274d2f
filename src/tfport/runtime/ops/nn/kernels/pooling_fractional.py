"""Fractional pooling: windows of two sizes in an order drawn with TensorFlow's own generator."""

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
    """Where windows begin, and the end of the last."""
    steps = _evenly(size, count, random) if pseudo else _shuffled(size, count, random)
    return np.array([0, *np.cumsum(steps)], np.int64)


def _shuffled(size: int, count: int, random: Generator) -> list[int]:
    short, longer = divmod(size, count)
    steps = [short + (i < longer) for i in range(count)]
    words = random.reserve(-(-count // 4)).words()
    for i in range(count - 1):
        j = i + next(words) % (count - i)
        steps[i], steps[j] = steps[j], steps[i]
    return steps


def _evenly(size: int, count: int, random: Generator) -> list[int]:
    """Steps of one ratio from a drawn start, as far as the sizes of windows then differ by one at most."""
    ratio, short = size / count, size // count
    most = min((short + 2) / ratio - 1, (size + 1 - short) / ratio - (count - 1))
    words = random.reserve(1).words()
    high, low = next(words), next(words)
    start = ((high & 0xFFFFF) << 32 | low) / float(1 << 52) * most
    places = [1, *(math.ceil(ratio * (i + start)) for i in range(1, count)), size + 1]
    return [b - a for a, b in itertools.pairwise(places)]


def _pooled(
    x: Any, ratios: Sequence[float], pseudo: bool, overlapping: bool, random: Generator, of: Any
) -> tuple[Any, Any, Any]:
    if x.ndim != 4:
        raise RunFailed(f"the input must have 4 axes, found {x.ndim}")
    if len(ratios) != 4 or ratios[0] != 1 or ratios[3] != 1 or min(ratios) < 1:
        raise RunFailed(f"ratios must be at least 1, and 1 for batch and channels: {ratios}")
    counts = [math.floor(n / r) for n, r in zip(x.shape, ratios, strict=True)]
    if min(counts) < 1:
        raise RunFailed(f"the ratios {ratios} leave nothing of {x.shape}")
    rows = _borders(x.shape[1], counts[1], random, pseudo)
    columns = _borders(x.shape[2], counts[2], random, pseudo)
    out = _along(_along(widen(x), 1, rows, overlapping, of), 2, columns, overlapping, of)
    return out, rows, columns


def _along(x: Any, axis: int, borders: Any, overlapping: bool, of: Any) -> Any:
    spans = zip(borders[:-1], _ends(borders, overlapping), strict=True)
    return np.stack([of(x.take(range(a, b), axis), axis) for a, b in spans], axis)


def _ends(borders: Any, overlapping: bool) -> Any:
    return np.minimum(borders[1:] + overlapping, borders[-1])


def _generator(context: Context, deterministic: bool, seed: int, seed2: int) -> Generator:
    """One that goes on from run to run, or, for windows that stay, one that begins anew."""
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
    high, broad = (_ends(borders, overlapping) - borders[:-1] for borders in (rows, columns))
    mean = total / np.multiply.outer(high, broad)[:, :, None].astype(total.dtype)
    return np.trunc(mean) if value.dtype.kind in "iu" else mean, rows, columns
