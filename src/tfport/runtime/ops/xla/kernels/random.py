"""Random bits as XLA generates them, by Philox and ThreeFry."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random.philox import Philox

PHILOX, THREE_FRY = "philox", "three_fry"
_ALGORITHMS = {1: PHILOX, 2: THREE_FRY}
_MASK = (1 << 64) - 1
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@host("XlaRngBitGenerator")
def rng_bit_generator(algorithm, initial_state, shape, *, dtype):
    dims = tuple(int(n) for n in shape.reshape(-1))
    return random_bits(int(algorithm), initial_state, dims, dtype.numpy)


def random_bits(number: int, state: Any, dims: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """The next state, and the bits."""
    algorithm = _ALGORITHMS.get(number, PHILOX)
    dtype = np.dtype(dtype)
    if state.shape not in (((2,),) if algorithm == THREE_FRY else ((2,), (3,))):
        raise RunFailed(f"a state of shape {list(state.shape)} does not fit the algorithm {algorithm}")
    wide = np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)
    draw = _three_fry if algorithm == THREE_FRY else _philox
    after, bits = draw([int(n) for n in state], dims, wide)
    narrow = np.dtype(f"u{dtype.itemsize}")
    return np.array(after, np.uint64), bits.astype(narrow).view(dtype)


def _philox(state: list[int], dims: tuple[int, ...], dtype: Any) -> tuple[list[int], Any]:
    key, low, *high = state
    size = int(np.prod(dims, dtype=np.int64))
    words = size * dtype.itemsize // 4
    blocks = -(-words // 4)
    philox = Philox(key, low | (high[0] if high else key) << 64)  # the key fills a short state
    end = philox.skip(blocks).counter
    bits = np.ascontiguousarray(philox.first(blocks).reshape(-1)[:words]).view(dtype)
    return [key, end & _MASK, end >> 64][: len(state)], bits.reshape(dims)


def _three_fry(state: list[int], dims: tuple[int, ...], dtype: Any) -> tuple[list[int], Any]:
    key, counter = state
    axis = _split_axis(dims)
    half = list(dims) or [1]
    if dtype.itemsize == 4:
        half[axis] = -(-half[axis] // 2)
    size = int(np.prod(half, dtype=np.int64))
    counters = np.uint64(counter) + np.arange(size, dtype=np.uint64)
    first, second = (word.reshape(half) for word in _hashed(counters, key))
    if dtype.itemsize == 8:
        bits = first.astype(np.uint64) | second.astype(np.uint64) << np.uint64(32)
    else:
        pairs = np.stack([first, second], axis + 1)
        whole = [*half[:axis], half[axis] * 2, *half[axis + 1 :]]
        length = dims[axis] if dims else 1
        bits = pairs.reshape(whole)[(slice(None),) * axis + (slice(length),)]
    return [key, (counter + size) & _MASK], bits.reshape(dims)


def _split_axis(dims: tuple[int, ...]) -> int:
    """The axis of the pairs: the first even one, or the first of the longest."""
    even = [i for i, n in enumerate(dims) if n % 2 == 0]
    if even or not dims:
        return even[0] if even else 0
    return dims.index(max(dims))


def _hashed(counters: Any, key: int) -> tuple[Any, Any]:
    """Threefry 2x32 in 20 rounds."""
    k0, k1 = np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x, y = counters.astype(np.uint32) + keys[0], (counters >> np.uint64(32)).astype(np.uint32) + keys[1]
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            x = x + y
            y = (y << np.uint32(by) | y >> np.uint32(32 - by)) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y
