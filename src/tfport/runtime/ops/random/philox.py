"""The generator of TensorFlow's random ops: Philox 4x32-10, for many counters at once.

A generator is a key and a 128-bit counter; it returns one block of four 32-bit words per counter.
There are three ways to make one: `from_seeds` for ops with attributes `seed` and `seed2`,
`from_seed` for stateless ops, `from_words` where key and counter are inputs. `distributions`
turns words into numbers.
"""

from __future__ import annotations

import functools
import itertools
import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.startup.dataclass import dataclass

# Blocks of a key and a counter. For many, NumPy's calls are what takes time if there are few of them, and its
# 64-bit products if there are many; so there are as few of both as possible, and everything is in place.

ROUNDS = 10
CHUNK = 8192
"""This many blocks are computed at once; more do not fit in the cache."""
_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1
_FACTORS = 0xD2511F53, 0xCD9E8D57
_RAISE = 0x9E3779B9, 0xBB67AE85
# arrays, which NumPy need not convert at each call
_LOW, _HALF = np.array(_MASK32, np.uint64), np.array(32, np.uint64)
_MULTIPLY = np.array(_FACTORS[0], np.uint64), np.array(_FACTORS[1], np.uint64)


def one_block(key: int, counter: int) -> tuple[int, int, int, int]:
    """One block with Python's integers: for a few blocks NumPy's calls take longer."""
    c0, c1 = counter & _MASK32, counter >> 32 & _MASK32
    c2, c3 = counter >> 64 & _MASK32, counter >> 96
    for k0, k1 in _round_keys(key):
        p0, p1 = _FACTORS[0] * c0, _FACTORS[1] * c2
        c0, c2 = (p1 >> 32) ^ c1 ^ k0, (p0 >> 32) ^ c3 ^ k1
        c1, c3 = p1 & _MASK32, p0 & _MASK32
    return c0, c1, c2, c3


def many_blocks(key: int, counter: int, offsets: Any) -> Any:
    """The blocks at these offsets from a counter, a vector, as rows of four uint32."""
    words = np.empty((len(offsets), 4), np.uint32)
    for start in range(0, len(offsets), CHUNK):
        state, keys = _start(key, counter, offsets[start : start + CHUNK])
        _compute_rounds(state, keys)
        for column, row in enumerate((0, 2, 1, 3)):
            words[start : start + CHUNK, column] = state[row]
    return words


def joint_blocks(key: int, parts: Sequence[tuple[int, Any]]) -> list[Any]:
    """The blocks of several counters at ascending offsets from each, for one key: as few calls as for one."""
    sizes = [len(offsets) for _, offsets in parts]
    if len(parts) == 1 or sum(sizes) > CHUNK:
        return [many_blocks(key, counter, offsets) for counter, offsets in parts]
    state = np.empty((4, sum(sizes)), np.uint64)
    ends = list(itertools.accumulate(sizes))
    for (counter, offsets), size, end in zip(parts, sizes, ends, strict=True):
        if size:
            _fill(state[:, end - size : end], counter, offsets)
    _compute_rounds(state, _key_arrays(key))
    words = np.empty((len(state[0]), 4), np.uint32)
    for column, row in enumerate((0, 2, 1, 3)):
        words[:, column] = state[row]
    return np.split(words, ends[:-1])


def _fill(state: Any, counter: int, offsets: Any) -> None:
    """Set the words of the counters at ascending offsets from a counter."""
    low = offsets + np.uint64(counter & _MASK64)
    np.bitwise_and(low, _LOW, state[0])
    np.right_shift(low, _HALF, state[2])
    if (counter & _MASK64) + int(offsets[-1]) > _MASK64:
        high = (low < offsets) + np.uint64(counter >> 64)
        state[1], state[3] = high & _LOW, high >> _HALF
    else:
        state[1], state[3] = counter >> 64 & _MASK32, counter >> 96


def _start(key: int, counter: int, offsets: Any) -> tuple[Any, Sequence[tuple[Any, Any]]]:
    """The state after the first rounds, and the keys of the others.

    The counters nearly always differ in their lowest word only. Then half of the first two rounds is the
    same for all.
    """
    state = np.empty((4, len(offsets)), np.uint64)
    low = offsets + np.uint64(counter & _MASK64)
    if (counter & _MASK32) + int(offsets.max()) > _MASK32:
        high = (low < offsets) + np.uint64(counter >> 64)
        state[0], state[1], state[2], state[3] = low & _LOW, high & _LOW, low >> _HALF, high >> _HALF
        return state, _key_arrays(key)
    (k0, k1), (next_k0, next_k1) = _round_keys(key)[:2]
    product = (low & _LOW) * _MULTIPLY[0]
    common = (counter >> 64 & _MASK32) * _FACTORS[1]
    c0, c1 = (common >> 32) ^ (counter >> 32 & _MASK32) ^ k0, common & _MASK32
    next_product = ((product >> _HALF) ^ np.uint64((counter >> 96) ^ k1)) * _MULTIPLY[1]
    next_common = c0 * _FACTORS[0]
    np.bitwise_xor(next_product >> _HALF, np.uint64(c1 ^ next_k0), state[0])
    np.bitwise_xor(product & _LOW, np.uint64((next_common >> 32) ^ next_k1), state[1])
    np.bitwise_and(next_product, _LOW, state[2])
    state[3] = next_common & _MASK32
    return state, _key_arrays(key)[2:]


def _compute_rounds(state: Any, keys: Sequence[tuple[Any, Any]]) -> None:
    """Compute the rounds with these keys, an even number, in place.

    The rows of the state are the words 0, 2, 1 and 3 of the blocks. A round exchanges the first two and the
    last two; as that is not done here, every other round has them in the other order.
    """
    (first, second), (third, fourth) = state[:2], state[2:]
    both, others = state[:2].reshape(-1), state[2:].reshape(-1)
    products = np.empty_like(both)
    of_first, of_second = products[: len(first)], products[len(first) :]
    factor, other_factor = _MULTIPLY
    for key, other_key in keys:
        np.multiply(first, factor, of_first)
        np.multiply(second, other_factor, of_second)
        np.right_shift(products, _HALF, both)
        np.bitwise_xor(first, fourth, first)
        np.bitwise_xor(second, third, second)
        np.bitwise_xor(first, other_key, first)
        np.bitwise_xor(second, key, second)
        np.bitwise_and(products, _LOW, others)
        factor, other_factor = other_factor, factor


@functools.lru_cache
def _round_keys(key: int) -> Sequence[tuple[int, int]]:
    """The key of each round."""
    k0, k1 = key & _MASK32, key >> 32
    return [(k0 + i * _RAISE[0] & _MASK32, k1 + i * _RAISE[1] & _MASK32) for i in range(ROUNDS)]


@functools.lru_cache
def _key_arrays(key: int) -> Sequence[tuple[Any, Any]]:
    """The same as arrays, in the order in which `_compute_rounds` needs them."""
    pairs = [(np.array(k0, np.uint64), np.array(k1, np.uint64)) for k0, k1 in _round_keys(key)]
    return [pair[::-1] if i % 2 else pair for i, pair in enumerate(pairs)]


# Generators

_MASK128 = (1 << 128) - 1
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
