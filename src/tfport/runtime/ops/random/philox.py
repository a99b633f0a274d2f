"""The generator of TensorFlow's random ops: Philox 4x32-10, for many counters at once.

A generator is a key and a 128-bit counter; it returns one block of four 32-bit words per counter.
There are three ways to make one: `from_seeds` for ops with attributes `seed` and `seed2`,
`from_seed` for stateless ops, `from_words` where key and counter are inputs. `distributions`
turns words into numbers.
"""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.random.philox_blocks import many_blocks, one_block
from tfport.startup.dataclass import dataclass

_MASK64, _MASK128 = (1 << 64) - 1, (1 << 128) - 1
FEW = 8
"""Up to this many blocks are computed one by one."""
PHILOX = 1
AUTOMATIC = 3
_SCRAMBLE = 0x02461E293EC8F720
"""The key that turns a stateless seed into a key and a counter."""


@dataclass(frozen=True, slots=True)
class Philox:
    """An immutable generator; `skip` returns a new one."""

    key: int
    counter: int

    def skip(self, blocks: int) -> Philox:
        return Philox(self.key, (self.counter + (blocks & _MASK64)) & _MASK128)

    def blocks(self, offsets: Any) -> Any:
        """The blocks at these offsets, as uint32 with a last axis of four."""
        offsets = np.asarray(offsets, np.uint64)
        flat = offsets.reshape(-1)
        if flat.size > FEW:
            words = many_blocks(self.key, self.counter, flat)
        else:
            counters = (self.counter + offset & _MASK128 for offset in flat.tolist())
            words = np.array([one_block(self.key, counter) for counter in counters], np.uint32)
        return words.reshape(*offsets.shape, 4)

    def first(self, blocks: int) -> Any:
        return self.blocks(np.arange(blocks, dtype=np.uint64))

    def words(self) -> Iterator[int]:
        """The words in order, for code that draws one at a time."""
        at, size = 0, 16
        while True:
            yield from self.skip(at).first(size).reshape(-1).tolist()
            at, size = at + size, min(size * 2, 4096)


def from_seeds(seed: int, seed2: int) -> Philox:
    """From the seed attributes of an op; random if both are 0, with one key: they can be drawn together."""
    if seed == 0 and seed2 == 0:
        seed, seed2 = _any_key(), secrets.randbits(64)
    return Philox(seed & _MASK64, (seed2 & _MASK64) << 64)


@functools.cache
def _any_key() -> int:
    """The key of generators without seeds, which differ in their counters."""
    return secrets.randbits(64)


def from_seed(seed: Any) -> Philox:
    """From the seed input of a stateless op, two integers."""
    if seed.shape != (2,):
        raise RunFailed(f"seed must have shape [2], found {list(seed.shape)}")
    low, high = (int(s) & _MASK64 for s in seed)
    mixed = Philox(_SCRAMBLE, low | high << 64).blocks(0)
    return Philox(_joined(mixed[:2]), _joined(mixed[2:]) << 64)


def from_words(key: Any, counter: Any, alg: Any) -> Philox:
    """From the key, counter and algorithm inputs of stateless ops of version 2."""
    if alg.shape != ():
        raise RunFailed(f"alg must be a scalar, found shape {list(alg.shape)}")
    _check_algorithm(int(alg))
    if key.shape != (1,):
        raise RunFailed(f"key must have shape [1], found {list(key.shape)}")
    if counter.ndim != 1 or counter.shape[0] < 2:
        raise RunFailed(f"counter must be a vector of at least 2 elements, found shape {list(counter.shape)}")
    return Philox(int(key[0]), int(counter[0]) | int(counter[1]) << 64)


def _check_algorithm(number: int) -> None:
    if number not in (PHILOX, AUTOMATIC):
        raise RunFailed(f"unsupported algorithm {number}")


def from_state(state: Any, algorithm: int) -> Philox:
    """From the variable of a `tf.random.Generator`: counter, then key."""
    if state.dtype != np.int64 or state.ndim != 1:
        raise RunFailed(
            f"the generator state must be an int64 vector, found {state.dtype} of shape {list(state.shape)}"
        )
    _check_algorithm(algorithm)
    if state.size < 3:
        raise RunFailed(f"the Philox state must have at least 3 elements, found {state.size}")
    low, high, key = (int(s) & _MASK64 for s in state[:3])
    return Philox(key, low | high << 64)


def to_state(philox: Philox) -> Any:
    return np.array([philox.counter & _MASK64, philox.counter >> 64, philox.key], np.uint64).view(np.int64)


def _joined(words: Any) -> int:
    return int(words[0]) | int(words[1]) << 32


class Generator:
    """The state of a node with seed attributes between runs."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._next = from_seeds(seed, seed2)
        self._lock = threading.Lock()
        self.sampler: Any = None
        """The state of a learning sampler."""

    def reserve(self, blocks: int) -> Philox:
        """A generator for this run; the next run starts that many blocks later."""
        with self._lock:
            taken, self._next = self._next, self._next.skip(blocks)
            return taken


def generator_of(context: Any, seed: int, seed2: int) -> Generator:
    """The generator of a node in one of the calls of its function, made when it first runs in a session."""
    name = context.calls + context.name
    generator: Generator = context.state.resource(Generator, name, lambda: Generator(seed, seed2))
    return generator
