"""Stateless random ops: the same numbers as TensorFlow on a CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random import distributions as draw
from tfport.runtime.ops.random.philox import PHILOX, Philox, from_seed, from_words
from tfport.runtime.ops.random.rejection import binomial, gamma, laid_out, per_parameter, poisson


@host("StatelessRandomGetKeyCounter")
def get_key_counter(seed):
    philox = from_seed(seed)
    return np.array([philox.key], np.uint64), np.array([0, philox.counter >> 64], np.uint64)


@host("StatelessRandomGetKeyCounterAlg")
def get_key_counter_alg(seed):
    return *get_key_counter(seed), np.array(PHILOX, np.int32)


@host("StatelessRandomGetAlg", once=True)
def get_alg():
    return np.array(PHILOX, np.int32)


def _declare(op: str, fill: Callable[..., Any]) -> None:
    """The op draws from a seed; its second version, from a key and a counter."""

    @host(op)
    def by_seed(shape, seed, *, dtype):
        return fill(from_seed(seed), draw.shape_of(shape), dtype.numpy)

    @host(f"{op}V2")
    def by_key(shape, key, counter, alg, *, dtype):
        return fill(from_words(key, counter, alg), draw.shape_of(shape), dtype.numpy)


_declare("StatelessRandomUniform", draw.uniform)
_declare("StatelessRandomNormal", draw.normal)
_declare("StatelessTruncatedNormal", draw.truncated_normal)
_declare("StatelessRandomUniformFullInt", draw.full_int)


@host("StatelessRandomUniformInt")
def uniform_int(shape, seed, minval, maxval):
    return integers(from_seed(seed), shape, minval, maxval)


@host("StatelessRandomUniformIntV2")
def uniform_int_v2(shape, key, counter, alg, minval, maxval):
    return integers(from_words(key, counter, alg), shape, minval, maxval)


def integers(philox: Philox, shape: Any, low: Any, high: Any) -> Any:
    """Bounds are not checked if nothing is drawn."""
    dims = draw.shape_of(shape)
    if draw.size_of(dims) == 0:
        return np.empty(dims, low.dtype)
    return draw.uniform_int(philox, dims, low, high)


def _sampled(sample: Callable[..., Any], philox: Philox, shape: Any, parameter: Any) -> Any:
    dims = draw.shape_of(shape)
    if draw.size_of(dims) == 0:
        return np.empty(dims)
    parameters, each = per_parameter(parameter, dims)
    return laid_out(sample(philox, parameters), each, dims)


@host("StatelessRandomGammaV2")
def gamma_v2(shape, seed, alpha):
    return _sampled(gamma, from_seed(seed), shape, alpha)


@host("StatelessRandomGammaV3")
def gamma_v3(shape, key, counter, alg, alpha):
    return _sampled(gamma, from_words(key, counter, alg), shape, alpha)


@host("StatelessRandomPoisson")
def stateless_poisson(shape, seed, lam, *, dtype):
    return _sampled(poisson, from_seed(seed), shape, lam)


@host("StatelessRandomBinomial")
def stateless_binomial(shape, seed, counts, probs, *, dtype):
    return binomials(from_seed(seed), draw.shape_of(shape), counts, probs)


def binomials(philox: Philox, dims: tuple[int, ...], counts: Any, probs: Any) -> Any:
    try:
        counts, probs = np.broadcast_arrays(counts, probs)
    except ValueError:
        raise RunFailed(
            f"counts {list(counts.shape)} and probs {list(probs.shape)} do not broadcast"
        ) from None
    if draw.size_of(dims) == 0:
        return np.empty(dims)
    chances, each = per_parameter(probs, dims)
    return laid_out(binomial(philox, per_parameter(counts, dims)[0], chances, probs.dtype), each, dims)


@host("StatelessMultinomial")
def stateless_multinomial(logits, num_samples, seed, *, output_dtype):
    return categories(from_seed(seed), logits, num_samples)


def check_logits(logits: Any, num_samples: Any) -> int:
    """The number of samples per row."""
    if logits.ndim != 2:
        raise RunFailed(f"logits must be a matrix, found shape {list(logits.shape)}")
    if num_samples.ndim:
        raise RunFailed(f"num_samples must be a scalar, found shape {list(num_samples.shape)}")
    if num_samples < 0:
        raise RunFailed(f"num_samples must not be negative, found {num_samples}")
    if logits.shape[1] == 0:
        raise RunFailed("logits must have at least one class")
    return int(num_samples)


def categories(philox: Philox, logits: Any, num_samples: Any) -> Any:
    """Sample classes: search uniform numbers in the cumulative probabilities."""
    count = check_logits(logits, num_samples)
    rows = logits.shape[0]
    real = np.isfinite(logits)
    wide = logits.astype(np.float64)
    lowest = float(np.finfo(np.float64).min)
    largest = np.max(np.where(real, wide, lowest), axis=1, keepdims=True, initial=lowest)
    summed = np.cumsum(np.where(real, np.exp(wide - largest), 0), axis=1)
    points = draw.uniform(philox, (rows, count), np.float64)
    points = points * summed[:, -1:]
    samples = [np.searchsorted(summed[i], points[i], side="right") for i in range(rows)]
    return np.array(samples, np.int64).reshape(rows, count)


@host("StatelessShuffle")
def stateless_shuffle(value, key, counter, alg):
    philox = from_words(key, counter, alg)
    return shuffled(value, lambda blocks: philox)


def shuffled(value: Any, reserve: Any) -> Any:
    """Shuffle rows: swap each with itself or a later one."""
    if value.size <= 1 or value.shape[0] <= 1:
        return value
    size = value.shape[0]
    blocks = -(-(size - 1) // 4)
    words = reserve(blocks).first(blocks).reshape(-1)[: size - 1].astype(np.int64)
    steps = (words % np.arange(size, 1, -1)).tolist()
    order = list(range(size))
    for i, step in enumerate(steps):
        order[i], order[i + step] = order[i + step], order[i]
    return value[np.array(order)]


@host("RandomIndexShuffle")
def random_index_shuffle(index, seed, max_index, *, rounds):
    """The position of an index in a permutation of [0, max_index], which is never stored."""
    count = max(index.size, max_index.size, seed.size // 3)
    if index.ndim > 1 or (index.ndim == 1 and index.size != count):
        raise RunFailed(f"index must be a scalar or a vector, found shape {list(index.shape)}")
    if seed.shape not in ((3,), (count, 3)):
        raise RunFailed(f"seed must have shape [3] or [{count}, 3], found {list(seed.shape)}")
    if max_index.ndim > 1 or (max_index.ndim == 1 and max_index.size != count):
        raise RunFailed(
            f"max_index must be a scalar or have {count} elements, found shape {list(max_index.shape)}"
        )
    where = np.broadcast_to(index, (count,)).tolist()
    last = np.broadcast_to(max_index, (count,)).tolist()
    keys = np.broadcast_to(seed.astype(np.uint32), (count, 3)).tolist()
    positions = [_permuted(i, key, m, rounds) for i, key, m in zip(where, keys, last, strict=True)]
    scalar = index.ndim == 0 and max_index.ndim == 0 and seed.ndim == 1
    return np.array(positions, index.dtype).reshape(() if scalar else (count,))


def _permuted(index: int, key: list[int], last: int, rounds: int) -> int:
    """Apply a small block cipher until the result is in range."""
    if last < 0 or not 0 <= index <= last:
        raise RunFailed(f"index {index} must be in [0, {last}]")
    if last == 0:
        return 0
    bits = math.ceil(math.log2(last))
    width = max(bits + bits % 2, 16) // 2
    mask = (1 << width) - 1

    def rotated(x: int, r: int) -> int:
        return (x << r | x >> (width - r)) & mask

    keys = [k & mask for k in key]
    sequence = 0x7369F885192C0EF5 & mask
    for i in range(3, rounds):
        before = rotated(keys[i - 1], width - 3) ^ rotated(keys[i - 1], width - 4)
        keys.append((0xFFFFFFFC & mask) ^ (sequence & 1) ^ keys[i - 3] ^ before)
        sequence >>= 1

    def mixed(x: int) -> int:
        return rotated(x, 1) & rotated(x, 8 % width) ^ rotated(x, 2)

    while True:
        left, right = index >> width & mask, index & mask
        for first, second in zip(keys[0::2], keys[1::2], strict=False):
            left ^= mixed(right) ^ first
            right ^= mixed(left) ^ second
        index = left << width | right
        if index <= last:
            return index
