"""Random numbers of a distribution from Philox blocks, in TensorFlow's order.

`uniform`, `normal`, `truncated_normal`, `uniform_int` and `full_int` fill an array.
`Buffer` is for rejection sampling: every output has its own position in the stream and
takes as many numbers as it needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.random.philox import Philox

Convert = Callable[[Any, Any], Any]
"""Blocks (…, 4) to numbers (…, 4), or (…, 2) of eight bytes."""
RESERVED = 256
"""Blocks that TensorFlow reserves for each output."""
# arrays, which NumPy need not convert at each call
_MANTISSA, _EXPONENT = np.array(0x7FFFFF, np.uint32), np.array(127 << 23, np.uint32)
_ONE = np.array(1, np.float32)
_SMALLEST = 1e-7
_TRUNCATE = 2.0


def shape_of(shape: Any) -> tuple[int, ...]:
    """The value of a shape input."""
    if shape.ndim != 1:
        raise RunFailed(f"shape must be a vector, found shape {list(shape.shape)}")
    dims = tuple(shape.tolist())
    if min(dims, default=0) < 0:
        raise RunFailed(f"shape must not have negative sizes, found {list(dims)}")
    return dims


def size_of(dims: tuple[int, ...]) -> int:
    return math.prod(dims)


def as_uniform(blocks: Any, dtype: Any) -> Any:
    """Numbers in [0, 1): random mantissa bits of a number in [1, 2), minus 1."""
    dtype = np.dtype(dtype)
    if dtype == np.float64:
        words = blocks.astype(np.uint64)
        bits = (words[..., 0::2] & np.uint64(0xFFFFF)) << np.uint64(32) | words[..., 1::2]
        return (bits | np.uint64(1023 << 52)).view(np.float64) - 1.0
    if dtype == np.float32:
        bits = blocks & _MANTISSA
        bits |= _EXPONENT
        numbers = bits.view(np.float32)
        numbers -= _ONE
        return numbers
    fraction, exponent = (10, 15) if dtype == np.float16 else (7, 127)
    bits = blocks.astype(np.uint16) & np.uint16((1 << fraction) - 1) | np.uint16(exponent << fraction)
    return (bits.view(dtype).astype(np.float32) - np.float32(1)).astype(dtype)


def as_normal(blocks: Any, dtype: Any) -> Any:
    """The Box-Muller transform of pairs."""
    dtype = np.dtype(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    numbers = as_uniform(blocks, wide)
    u, angle = numbers[..., 0::2], numbers[..., 1::2]
    # in double and rounded, since libm's float functions are nearly always correctly rounded
    angle = (2 * np.pi * angle.astype(np.float64)).astype(wide).astype(np.float64)
    logs = np.log(np.maximum(u, wide(_SMALLEST)).astype(np.float64)).astype(wide)
    radius = np.sqrt(wide(-2) * logs)
    out = np.empty(numbers.shape, wide)
    out[..., 0::2] = np.sin(angle).astype(wide) * radius
    out[..., 1::2] = np.cos(angle).astype(wide) * radius
    return out.astype(dtype)


def as_full_int(blocks: Any, dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.itemsize == 4:
        return blocks.view(dtype)
    words = blocks.astype(np.uint64)
    return (words[..., 0::2] | words[..., 1::2] << np.uint64(32)).view(dtype)


def uniform(philox: Philox, dims: tuple[int, ...], dtype: Any) -> Any:
    return _filled(philox, dims, dtype, as_uniform)


def normal(philox: Philox, dims: tuple[int, ...], dtype: Any) -> Any:
    return _filled(philox, dims, dtype, as_normal)


def full_int(philox: Philox, dims: tuple[int, ...], dtype: Any) -> Any:
    return _filled(philox, dims, dtype, as_full_int)


def uniform_int(philox: Philox, dims: tuple[int, ...], low: Any, high: Any) -> Any:
    """Integers in [low, high)."""
    for name, bound in (("minval", low), ("maxval", high)):
        if bound.ndim:
            raise RunFailed(f"{name} must be a scalar, found shape {list(bound.shape)}")
    if low >= high:
        raise RunFailed(f"minval must be less than maxval, found {low} and {high}")
    dtype = low.dtype
    unsigned = np.dtype(f"u{dtype.name}")
    bits = full_int(philox, dims, unsigned)
    span = unsigned.type((int(high) - int(low)) % (1 << 8 * dtype.itemsize))
    return (bits % span + np.asarray(low).view(unsigned)).view(dtype)


def _filled(philox: Philox, dims: tuple[int, ...], dtype: Any, convert: Convert) -> Any:
    dtype, size = np.dtype(dtype), size_of(dims)
    group = group_of(dtype)
    return convert(philox.first(-(-size // group)), dtype).reshape(-1)[:size].reshape(dims)


def group_of(dtype: Any) -> int:
    """How many numbers a block gives."""
    return 2 if np.dtype(dtype).itemsize == 8 else 4


def truncated_normal(philox: Philox, dims: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers in (-2, 2): each group takes the accepted numbers of its part of the stream."""
    dtype, size = np.dtype(dtype), size_of(dims)
    group = group_of(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    starts = np.arange(-(-size // group), dtype=np.uint64) * np.uint64(group * RESERVED // 4)
    out = np.empty((starts.size, group), wide)
    pending, blocks = np.arange(starts.size), 2 if group == 4 else 3
    while pending.size:
        reach = starts[pending, None] + np.arange(blocks, dtype=np.uint64)
        numbers = as_normal(philox.blocks(reach), wide).reshape(pending.size, -1)
        fits = np.abs(numbers) < _TRUNCATE
        enough = fits.sum(1) >= group
        rank = np.cumsum(fits, 1)
        taken = fits & (rank <= group) & enough[:, None]
        out[pending[enough]] = numbers[taken].reshape(-1, group)
        pending, blocks = pending[~enough], blocks * 2
    return out.reshape(-1)[:size].reshape(dims).astype(dtype)


class Streams:
    """A position in the stream of blocks for each output."""

    def __init__(self, philox: Philox, starts: Any) -> None:
        self.philox = philox
        self.at = np.asarray(starts, np.uint64).copy()

    def next(self, outputs: Any) -> Any:
        blocks = self.philox.blocks(self.at[outputs])
        self.at[outputs] += np.uint64(1)
        return blocks


class Buffer:
    """Numbers for outputs that take one at a time, the last of a block first."""

    def __init__(self, streams: Streams, convert: Convert, dtype: Any) -> None:
        self._streams, self._convert, self._dtype = streams, convert, np.dtype(dtype)
        self._rows = np.empty((streams.at.size, group_of(dtype)), dtype)
        self._left = np.zeros(streams.at.size, np.int64)

    def take(self, outputs: Any) -> Any:
        empty = outputs[self._left[outputs] == 0]
        if empty.size:
            self._rows[empty] = self._convert(self._streams.next(empty), self._dtype)
            self._left[empty] = self._rows.shape[1]
        self._left[outputs] -= 1
        return self._rows[outputs, self._left[outputs]]
