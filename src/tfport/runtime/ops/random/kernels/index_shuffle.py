"""RandomIndexShuffle: the position of an index in a permutation that is never stored."""

from __future__ import annotations

import math

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


@host("RandomIndexShuffle")
def random_index_shuffle(index, seed, max_index, *, rounds):
    """The position of an index in a permutation of [0, max_index]."""
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
