"""The generator behind TensorFlow's random ops: Philox 4x32-10, many counters at once.

A generator is a key and a counter of 128 bits; it gives one block of four 32-bit words
for each counter. A seed is turned into a generator in three ways: `from_seeds` for ops with
attributes `seed` and `seed2`, `from_seed` for stateless ops, `from_words` where key and
counter are inputs. What numbers are made of the words is said in `_draws`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.errors import RunFailed

_MASK32, _MASK64, _MASK128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_LOW = np.uint64(_MASK32)
_HALF = np.uint64(32)
_MULTIPLY = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_RAISE = 0x9E3779B9, 0xBB67AE85
PHILOX = 1
AUTOMATIC = 3
_SCRAMBLE = 0x02461E293EC8F720
"""The key under which a stateless seed becomes a key and a counter."""


@dataclass(frozen=True, slots=True)
class Philox:
    """A generator that is never changed; `skip` gives another."""

    key: int
    counter: int

    def skip(self, blocks: int) -> Philox:
        return Philox(self.key, (self.counter + (blocks & _MASK64)) & _MASK128)

    def blocks(self, offsets: Any) -> Any:
        """The blocks that many steps ahead, as uint32 in a last axis of four."""
        offsets = np.asarray(offsets, np.uint64)
        low = np.uint64(self.counter & _MASK64) + offsets
        high = np.uint64(self.counter >> 64) + (low < offsets).astype(np.uint64)
        c0, c1, c2, c3 = low & _LOW, low >> _HALF, high & _LOW, high >> _HALF
        k0, k1 = self.key & _MASK32, self.key >> 32
        for _ in range(10):
            p0, p1 = _MULTIPLY[0] * c0, _MULTIPLY[1] * c2
            c0 = (p1 >> _HALF) ^ c1 ^ np.uint64(k0)
            c2 = (p0 >> _HALF) ^ c3 ^ np.uint64(k1)
            c1, c3 = p1 & _LOW, p0 & _LOW
            k0, k1 = (k0 + _RAISE[0]) & _MASK32, (k1 + _RAISE[1]) & _MASK32
        return np.stack([c0, c1, c2, c3], -1).astype(np.uint32)

    def first(self, blocks: int) -> Any:
        return self.blocks(np.arange(blocks, dtype=np.uint64))

    def words(self) -> Iterator[int]:
        """Word after word, for what draws one at a time."""
        at, size = 0, 16
        while True:
            yield from self.skip(at).first(size).reshape(-1).tolist()
            at, size = at + size, min(size * 2, 4096)


def from_seeds(seed: int, seed2: int) -> Philox:
    """As the attributes of an op say; a random one where both are 0."""
    if seed == 0 and seed2 == 0:
        seed, seed2 = secrets.randbits(64), secrets.randbits(64)
    return Philox(seed & _MASK64, (seed2 & _MASK64) << 64)


def from_seed(seed: Any) -> Philox:
    """As a stateless op's input of two integers says."""
    if seed.shape != (2,):
        raise RunFailed(f"seed must have shape [2], not {list(seed.shape)}")
    low, high = (int(s) & _MASK64 for s in seed)
    mixed = Philox(_SCRAMBLE, low | high << 64).blocks(0)
    return Philox(_joined(mixed[:2]), _joined(mixed[2:]) << 64)


def from_words(key: Any, counter: Any, alg: Any) -> Philox:
    """As key, counter and algorithm of the second version of stateless ops say."""
    if alg.shape != ():
        raise RunFailed(f"alg must have shape [], not {list(alg.shape)}")
    _check_algorithm(int(alg))
    if key.shape != (1,):
        raise RunFailed(f"key must have shape [1], not {list(key.shape)}")
    if counter.ndim != 1 or counter.shape[0] < 2:
        raise RunFailed(
            f"counter must be a vector of at least 2 elements, not of shape {list(counter.shape)}"
        )
    return Philox(int(key[0]), int(counter[0]) | int(counter[1]) << 64)


def _check_algorithm(number: int) -> None:
    if number not in (PHILOX, AUTOMATIC):
        raise RunFailed(f"unsupported algorithm id: {number}")


def from_state(state: Any, algorithm: int) -> Philox:
    """As the variable of a `tf.random.Generator` says: counter, then key."""
    if state.dtype != np.int64 or state.ndim != 1:
        raise RunFailed("the state of a generator must be a vector of int64")
    _check_algorithm(algorithm)
    if state.size < 3:
        raise RunFailed(f"the state of a Philox generator has at least 3 elements; this has {state.size}")
    low, high, key = (int(s) & _MASK64 for s in state[:3])
    return Philox(key, low | high << 64)


def to_state(philox: Philox) -> Any:
    return np.array([philox.counter & _MASK64, philox.counter >> 64, philox.key], np.uint64).view(np.int64)


def _joined(words: Any) -> int:
    return int(words[0]) | int(words[1]) << 32


class Generator:
    """What one node with seeds keeps between runs."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._next = from_seeds(seed, seed2)
        self._lock = threading.Lock()
        self.sampler: Any = None
        """Of samplers that learn: what they learned."""

    def reserve(self, blocks: int) -> Philox:
        """A generator for this run; the next run begins that many blocks later."""
        with self._lock:
            taken, self._next = self._next, self._next.skip(blocks)
            return taken


def generator_of(context: Any, seed: int, seed2: int) -> Generator:
    """The generator of a node, made when it first runs in a session."""
    found: Generator = context.state.resource(Generator, context.name, lambda: Generator(seed, seed2))
    return found
