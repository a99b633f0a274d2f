"""Beside drawing: the gradient of a gamma number, an index in a shuffled order, rounding by chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

_MOST_TERMS = 2000
_LARGE = 2.0**52


@host("RandomGammaGrad")
def random_gamma_grad(alpha, sample):
    """How a gamma-distributed number changes with alpha, its quantile kept."""
    a, x = np.broadcast_arrays(alpha.astype(np.float64), sample.astype(np.float64))
    out = np.full(a.shape, np.nan)
    out[(x == 0) & (a > 0)] = 0
    defined = (x > 0) & (a > 0)
    far = defined & (x > 1) & (x > a)
    out[far] = _by_fraction(a[far], x[far])
    near = defined & ~far
    out[near] = _by_series(a[near], x[near])
    return out


def _by_series(a: Any, x: Any) -> Any:
    """From the power series of the lower incomplete gamma function, and its derivative term by term."""
    from scipy.special import digamma

    r, c, total = a.copy(), np.ones_like(a), np.ones_like(a)
    dc, dtotal = np.zeros_like(a), np.zeros_like(a)
    for _ in range(_MOST_TERMS):
        r += 1
        term = x / r
        dc = term * dc - x / (r * r) * c
        dtotal += dc
        c *= term
        total += c
        if not np.any(np.abs(dc) > 1e-17 * np.abs(dtotal)):
            break
    return -(dtotal + total * (np.log(x) - digamma(a + 1))) * x / a


def _by_fraction(a: Any, x: Any) -> Any:
    """From the continued fraction of the upper one."""
    from scipy.special import digamma

    y, z = 1 - a, x + (1 - a) + 1
    p2, q2, p1, q1 = np.ones_like(x), x.copy(), x + 1, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -x
    total = p1 / q1
    dtotal = (dp1 - total * dq1) / q1
    for c in range(1, _MOST_TERMS):
        y, z = y + 1, z + 2
        p, q = p1 * z - p2 * y * c, q1 * z - q2 * y * c
        dp = dp1 * z - p1 - dp2 * y * c + p2 * c
        dq = dq1 * z - q1 - dq2 * y * c + q2 * c
        there = q != 0
        new = np.where(there, p / q, total)
        dnew = np.where(there, (dp - new * dq) / q, dtotal)
        settled = not np.any(np.abs(dnew - dtotal) > 1e-16)
        total, dtotal = new, dnew
        if settled:
            break
        scale = np.where(np.abs(p) > _LARGE, 1 / _LARGE, 1.0)
        p2, q2, p1, q1 = p1 * scale, q1 * scale, p * scale, q * scale
        dp2, dq2, dp1, dq1 = dp1 * scale, dq1 * scale, dp * scale, dq * scale
    return (dtotal + total * (np.log(x) - digamma(a))) * x


@host("RandomIndexShuffle")
def random_index_shuffle(index, seed, max_index, *, rounds):
    """Where an index goes in a permutation of [0, max_index] that is never written down."""
    count = max(index.size, max_index.size, seed.size // 3)
    if index.ndim > 1 or (index.ndim == 1 and index.size != count):
        raise RunFailed("index must be a scalar or a vector")
    if seed.shape not in ((3,), (count, 3)):
        raise RunFailed(f"seed must be of shape [3] or [{count}, 3], not {list(seed.shape)}")
    if max_index.ndim > 1 or (max_index.ndim == 1 and max_index.size != count):
        raise RunFailed("max_index must be a scalar or a vector of the size of index")
    where = np.broadcast_to(index, (count,)).tolist()
    last = np.broadcast_to(max_index, (count,)).tolist()
    keys = np.broadcast_to(seed.astype(np.uint32), (count, 3)).tolist()
    found = [_moved(i, key, m, rounds) for i, key, m in zip(where, keys, last, strict=True)]
    scalar = index.ndim == 0 and max_index.ndim == 0 and seed.ndim == 1
    return np.array(found, index.dtype).reshape(() if scalar else (count,))


def _moved(index: int, key: list[int], last: int, rounds: int) -> int:
    """A small block cipher, until it stays in range."""
    if last < 0 or not 0 <= index <= last:
        raise RunFailed(f"index {index} must be in [0, {last}]")
    if last == 0:
        return 0
    bits = math.ceil(math.log2(last))
    width = max(bits + bits % 2, 16) // 2
    mask = (1 << width) - 1

    def turned(x: int, r: int) -> int:
        return (x << r | x >> (width - r)) & mask

    keys = [k & mask for k in key]
    sequence = 0x7369F885192C0EF5 & mask
    for i in range(3, rounds):
        before = turned(keys[i - 1], width - 3) ^ turned(keys[i - 1], width - 4)
        keys.append((0xFFFFFFFC & mask) ^ (sequence & 1) ^ keys[i - 3] ^ before)
        sequence >>= 1

    def mixed(x: int) -> int:
        return turned(x, 1) & turned(x, 8 % width) ^ turned(x, 2)

    while True:
        left, right = index >> width & mask, index & mask
        for first, second in zip(keys[0::2], keys[1::2], strict=False):
            left ^= mixed(right) ^ first
            right ^= mixed(left) ^ second
        index = left << width | right
        if index <= last:
            return index
