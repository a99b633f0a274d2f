"""Candidate samplers: sampled classes, and the expected count of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random.distributions import as_uniform
from tfport.runtime.ops.random.philox import generator_of

_BLOCKS = 512
"""Blocks reserved for each class to sample."""
_LEAST = np.finfo(np.float32).min
_INT32 = (1 << 31) - 1


class _Words:
    """Single numbers from a stream of words."""

    def __init__(self, words: Iterator[int]) -> None:
        self._words = words

    def bits32(self) -> int:
        return next(self._words)

    def bits64(self) -> int:
        return next(self._words) | next(self._words) << 32

    def real32(self) -> float:
        return float(as_uniform(np.array([next(self._words)], np.uint32), np.float32)[0])

    def real64(self) -> float:
        pair = np.array([next(self._words), next(self._words)], np.uint32)
        return float(as_uniform(pair, np.float64)[0])

    def below(self, n: int, bits: int = 32) -> int:
        """An unbiased integer below n."""
        draw = self.bits32 if bits == 32 else self.bits64
        if n & (n - 1) == 0:
            return draw() & (n - 1)
        rest = ((1 << bits) - 1) % n + 1
        while (number := draw()) < rest:
            pass
        return number % n


class _Uniform:
    def __init__(self, size: int) -> None:
        self.size = size

    def sample(self, words: _Words) -> int:
        return words.below(self.size, 64)

    def chance(self, values: Any) -> Any:
        return np.full(values.shape, 1 / self.size, np.float32)

    def learn(self, values: Any) -> None:
        pass


class _LogUniform(_Uniform):
    def sample(self, words: _Words) -> int:
        return (int(math.exp(words.real64() * math.log1p(self.size))) - 1) % self.size

    def chance(self, values: Any) -> Any:
        return (np.log((values + 2.0) / (values + 1.0)) / math.log1p(self.size)).astype(np.float32)


class _Learned(_Uniform):
    """The probability of a class is proportional to how often it was seen."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.weights = np.ones(size, np.int64)

    def sample(self, words: _Words) -> int:
        drawn = words.below(int(self.weights.sum()))
        return int(np.searchsorted(np.cumsum(self.weights), drawn, side="right"))

    def chance(self, values: Any) -> Any:
        return self.weights[values].astype(np.float32) / np.float32(self.weights.sum())

    def learn(self, values: Any) -> None:
        np.add.at(self.weights, values.reshape(-1)[: _INT32 - int(self.weights.sum())], 1)


class _Fixed(_Uniform):
    """Fixed weights, with Walker's alias table."""

    def __init__(self, size: int, weights: list[Any]) -> None:
        super().__init__(size)
        if len(weights) != size:
            raise RunFailed(f"range_max is {size} and must equal the number of weights, {len(weights)}")
        self.weights = np.array(weights, np.float32)
        self.total = np.add.accumulate(self.weights)[-1]
        self._keep, self._other = _aliases(self.weights)

    def sample(self, words: _Words) -> int:
        r = words.real32()
        at = words.below(self.size)
        return at if r < self._keep[at] else self._other[at]

    def chance(self, values: Any) -> Any:
        return self.weights[values] / self.total


def _aliases(weights: Any) -> tuple[list[float], list[int]]:
    n = len(weights)
    share = [float(np.float32(w * np.float32(n))) for w in weights]
    total = sum(float(w) for w in weights)
    share = [s / total for s in share]
    other = list(range(n))
    low = [i for i in range(n) if share[i] < 1]
    high = [i for i in range(n) if share[i] >= 1]
    while low and high:
        few, many = low.pop(), high.pop()
        other[few] = many
        share[many] -= 1 - share[few]
        (low if share[many] < 1 else high).append(many)
    for i in low + high:
        share[i], other[i] = 1.0, i
    return [float(np.float32(s)) for s in share], other


def _expected(chance: Any, count: int, tries: int) -> Any:
    """The expected count of a class among the samples."""
    if tries == count:
        return chance * np.float32(count)
    return -np.expm1(np.float32(tries) * np.log1p(-chance))


def _sampled(sampler: Any, true_classes: Any, num_true: int, count: int, unique: bool, generator: Any) -> Any:
    _check(true_classes, num_true, sampler.size)
    if unique and count > sampler.size:
        raise RunFailed(f"range_max {sampler.size} is too small for {count} unique classes")
    words = _Words(generator.reserve(_BLOCKS * count).words())
    samples: dict[int, None] | list[int] = {} if unique else []
    tries = 0
    while len(samples) < count:
        value = sampler.sample(words)
        tries += 1
        if isinstance(samples, dict):
            samples[value] = None
        else:
            samples.append(value)
    classes = np.array(list(samples), np.int64)
    counts = [_expected(sampler.chance(v), count, tries) for v in (true_classes, classes)]
    sampler.learn(true_classes)
    return classes, *counts


def _check(true_classes: Any, num_true: int, size: int) -> None:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise RunFailed(
            f"true_classes must be a matrix of {num_true} columns, found shape {list(true_classes.shape)}"
        )
    if np.any((true_classes < 0) | (true_classes >= size)):
        raise RunFailed(
            f"true_classes must be in [0, {size}), found {true_classes.min()} to {true_classes.max()}"
        )


def _simple(kind: Any) -> Any:
    def sample(true_classes, *, num_true, num_sampled, unique, range_max, seed, seed2, context):
        generator = generator_of(context, seed, seed2)
        if generator.sampler is None:
            generator.sampler = kind(range_max)
        return _sampled(generator.sampler, true_classes, num_true, num_sampled, unique, generator)

    return sample


host("UniformCandidateSampler")(_simple(_Uniform))
host("LogUniformCandidateSampler")(_simple(_LogUniform))
host("LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler")(_simple(_Learned))


@host("FixedUnigramCandidateSampler")
def fixed_unigram(
    true_classes,
    *,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file,
    distortion,
    num_reserved_ids,
    num_shards,
    shard,
    unigrams,
    seed,
    seed2,
    context,
):
    if bool(vocab_file) == bool(unigrams):
        raise RunFailed("exactly one of vocab_file and unigrams must be set")
    generator = generator_of(context, seed, seed2)
    if generator.sampler is None:
        unigram_weights = unigrams or _read_weights(context.state.read_file(vocab_file))
        weights = [0.0 for i in range(num_reserved_ids) if i % num_shards == shard]
        first = len(weights)
        weights += [
            float(np.power(np.float32(w), np.float32(distortion)))
            for i, w in enumerate(unigram_weights, first)
            if i % num_shards == shard
        ]
        generator.sampler = _Fixed(range_max, weights)
    return _sampled(generator.sampler, true_classes, num_true, num_sampled, unique, generator)


def _read_weights(file: Any) -> list[float]:
    """The last column of each line."""
    try:
        return [float(line.rsplit(b",", 1)[-1]) for line in bytes(file).splitlines()]
    except ValueError as error:
        raise RunFailed(f"vocab_file: the last column must be a number: {error}") from None


@host("AllCandidateSampler")
def all_candidates(true_classes, *, num_true, num_sampled, unique, seed, seed2):
    _check(true_classes, num_true, num_sampled)
    true_counts, sampled_counts = (np.ones(n, np.float32) for n in (true_classes.shape, num_sampled))
    return np.arange(num_sampled), true_counts, sampled_counts


@host("ComputeAccidentalHits")
def accidental_hits(true_classes, sampled_candidates, *, num_true, seed, seed2):
    """The positions where a sampled class is a true one."""
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise RunFailed(
            f"true_classes must be a matrix of {num_true} columns, found shape {list(true_classes.shape)}"
        )
    if sampled_candidates.ndim != 1:
        raise RunFailed(f"sampled_candidates must be a vector, found shape {list(sampled_candidates.shape)}")
    index_of = {value: i for i, value in enumerate(sampled_candidates.tolist())}
    hits = [(i, index_of[v]) for i, row in enumerate(true_classes.tolist()) for v in row if v in index_of]
    indices, ids = np.array(hits, np.int64).reshape(-1, 2).T
    return indices.astype(np.int32), ids, np.full(len(hits), _LEAST, np.float32)
