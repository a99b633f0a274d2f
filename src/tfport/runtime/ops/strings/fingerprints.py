"""Vectorized string hashes: FarmHash Fingerprint64, SipHash-2-4 and MurmurHash64A.

Each 64-bit word of an algorithm is a vector here, with one element per string.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

_U = np.uint64
_K0, _K1, _K2 = _U(0xC3A5C85C97CB3127), _U(0xB492B66FBE98F273), _U(0x9AE16A3B2F90404F)

_LONGEST = 65
"""Longer strings are hashed like those of this size."""


class PackedStrings:
    """Strings in one buffer, to read words of all strings at an offset."""

    def __init__(self, raw: bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """After the last string, `raw` has eight more bytes: words are read past the end, and masked."""
        self.starts, self.sizes = starts, sizes
        self.words: Words = np.ndarray((len(raw) - 7,), "<u8", raw, strides=(1,))
        self.bytes = np.frombuffer(raw, np.uint8)

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> PackedStrings:
        """Copies of the strings, one after another."""
        sizes = np.fromiter(map(len, strings), np.int64, len(strings))
        return cls(b"".join((*strings, bytes(8))), np.cumsum(sizes) - sizes, sizes)

    def only(self, chosen: NDArray[Any]) -> PackedStrings:
        """A subset of the strings."""
        part = object.__new__(PackedStrings)
        part.words, part.bytes = self.words, self.bytes
        part.sizes, part.starts = self.sizes[chosen], self.starts[chosen]
        return part

    def word(self, at: Any, width: int = 8) -> Words:
        """The little-endian integer of `width` bytes at an offset into each string."""
        if width == 1:
            byte: Words = self.bytes[self.starts + at].astype(np.uint64)
            return byte
        word: Words = self.words[self.starts + at]
        return word if width == 8 else word & _U((1 << 8 * width) - 1)

    def rest(self, at: Any) -> Words:
        """The little-endian integer of the last bytes from an offset, fewer than eight."""
        left_over = (self.sizes - at).astype(np.uint64)
        word: Words = self.words[self.starts + at] & ((_U(1) << (_U(8) * left_over)) - _U(1))
        return word


def _rotated(x: Words, right: int) -> Words:
    return (x >> _U(right)) | (x << _U(64 - right))


def _mixed(x: Words) -> Words:
    return x ^ (x >> _U(47))


def _pair(u: Words, v: Words, mul: Words) -> Words:
    a = _mixed((u ^ v) * mul)
    return _mixed((v ^ a) * mul) * mul


def fingerprint64(strings: Sequence[bytes]) -> Words:
    """FarmHash's Fingerprint64 of each string."""
    return packed_fingerprint64(PackedStrings.of(strings))


def packed_fingerprint64(packed: PackedStrings) -> Words:
    """FarmHash's Fingerprint64 of each string."""
    out = np.empty(len(packed.sizes), np.uint64)
    sizes, low = np.minimum(packed.sizes, _LONGEST).astype(np.uint8), 0
    longest = int(sizes.max(initial=0))
    for high, formula in (
        (0, None),
        (3, _up_to_3_bytes),
        (7, _up_to_7_bytes),
        (16, _up_to_16_bytes),
        (32, _up_to_32_bytes),
        (64, _up_to_64_bytes),
        (_LONGEST, _longer),
    ):
        chosen = np.flatnonzero((sizes >= low) & (sizes <= high))
        if len(chosen):
            out[chosen] = _K2 if formula is None else formula(packed.only(chosen))
        if longest <= high:
            break
        low = high + 1
    return out


def _up_to_3_bytes(p: PackedStrings) -> Words:
    n = p.sizes.astype(np.uint64)
    a, b, c = p.word(0, 1), p.word(p.sizes >> 1, 1), p.word(p.sizes - 1, 1)
    y, z = a + (b << _U(8)), n + (c << _U(2))
    return _mixed(y * _K2 ^ z * _K0) * _K2


def _up_to_7_bytes(p: PackedStrings) -> Words:
    n = p.sizes.astype(np.uint64)
    return _pair(n + (p.word(0, 4) << _U(3)), p.word(p.sizes - 4, 4), _K2 + n * _U(2))


def _up_to_16_bytes(p: PackedStrings) -> Words:
    mul = _K2 + p.sizes.astype(np.uint64) * _U(2)
    a, b = p.word(0) + _K2, p.word(p.sizes - 8)
    return _pair(_rotated(b, 37) * mul + a, (_rotated(a, 25) + b) * mul, mul)


def _up_to_32_bytes(p: PackedStrings) -> Words:
    mul = _K2 + p.sizes.astype(np.uint64) * _U(2)
    a, b, c, d = p.word(0) * _K1, p.word(8), p.word(p.sizes - 8) * mul, p.word(p.sizes - 16) * _K2
    return _pair(_rotated(a + b, 43) + _rotated(c, 30) + d, a + _rotated(b + _K2, 18) + c, mul)


def _up_to_64_bytes(p: PackedStrings) -> Words:
    mul = _K2 + p.sizes.astype(np.uint64) * _U(2)
    a, b, c, d = p.word(0) * _K2, p.word(8), p.word(p.sizes - 8) * mul, p.word(p.sizes - 16) * _K2
    y = _rotated(a + b, 43) + _rotated(c, 30) + d
    z = _pair(y, a + _rotated(b + _K2, 18) + c, mul)
    e, f = p.word(16) * mul, p.word(24)
    g, h = (y + p.word(p.sizes - 32)) * mul, (z + p.word(p.sizes - 24)) * mul
    return _pair(_rotated(e + f, 43) + _rotated(g, 30) + h, e + _rotated(f + a, 18) + g, mul)


class _LongHashState:
    """The state of the hash of long strings: x, y, z and two pairs."""

    def __init__(self, p: PackedStrings) -> None:
        seed = _U(81)
        y = np.full(len(p.sizes), seed * _K1 + _U(113))
        self.x, self.y, self.z = seed * _K2 + p.word(0), y, _mixed(y * _K2 + _U(113)) * _K2
        self.v0, self.v1, self.w0, self.w1 = np.zeros((4, len(p.sizes)), np.uint64)

    def step(self, p: PackedStrings, at: Any, mul: Words | np.uint64, weight: np.uint64) -> None:
        x = _rotated(self.x + self.y + self.v0 + p.word(at + 8), 37) * mul
        y = _rotated(self.y + self.v1 + p.word(at + 48), 42) * mul
        x = x ^ (self.w1 * weight)
        y = y + self.v0 * weight + p.word(at + 40)
        z = _rotated(self.z + self.w0, 33) * mul
        self.v0, self.v1 = _weak(p, at, self.v1 * mul, x + self.w0)
        self.w0, self.w1 = _weak(p, at + 32, z + self.w1, y + p.word(at + 16))
        self.x, self.y, self.z = z, y, x

    def chosen(self, where: NDArray[np.bool_]) -> _LongHashState:
        part = object.__new__(_LongHashState)
        for name, lane in vars(self).items():
            setattr(part, name, lane[where])
        return part

    def put(self, where: NDArray[np.bool_], part: _LongHashState) -> None:
        for name, lane in vars(part).items():
            getattr(self, name)[where] = lane


def _weak(p: PackedStrings, at: Any, a: Words, b: Words) -> tuple[Words, Words]:
    w, x, y, z = (p.word(at + i) for i in (0, 8, 16, 24))
    a = a + w
    b = _rotated(b + a + z, 21)
    c = a
    a = a + x + y
    b = b + _rotated(a, 44)
    return a + z, b + c


def _longer(p: PackedStrings) -> Words:
    state = _LongHashState(p)
    ends = (p.sizes - 1) // 64 * 64
    for at in range(0, int(ends.max()), 64):
        active = ends > at
        part = state.chosen(active)
        part.step(p.only(active), at, _K1, _U(1))
        state.put(active, part)
    mul = _K1 + ((state.z & _U(0xFF)) << _U(1))
    state.w0 = state.w0 + ((p.sizes - 1) & 63).astype(np.uint64)
    state.v0 = state.v0 + state.w0
    state.w0 = state.w0 + state.v0
    state.step(p, p.sizes - 64, mul, _U(9))
    return _pair(
        _pair(state.v0, state.w0, mul) + _mixed(state.y) * _K0 + state.z,
        _pair(state.v1, state.w1, mul) + state.x,
        mul,
    )


def siphash(strings: Sequence[bytes], key: Sequence[int]) -> Words:
    """SipHash-2-4 of each string with a key of two words."""
    packed = PackedStrings.of(strings)
    k0, k1 = (_U(k % 2**64) for k in key)
    start = [_U(c) for c in (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)]
    v = np.empty((4, len(strings)), np.uint64)
    for lane, constant, k in zip(v, start, (k0, k1, k0, k1), strict=True):
        lane[:] = constant ^ k
    word_counts = packed.sizes // 8
    for i in range(int(word_counts.max(initial=0))):
        active = word_counts > i
        v[:, active] = _absorbed(v[:, active], packed.only(active).word(8 * i))
    last = packed.rest(word_counts * 8) | (packed.sizes.astype(np.uint64) << _U(56))
    v = _absorbed(v, last)
    v[2] ^= _U(0xFF)
    v = _rounds(v, 4)
    mixed: Words = np.bitwise_xor.reduce(v, axis=0)
    return mixed


def _absorbed(v: Words, word: Words) -> Words:
    v = v.copy()
    v[3] ^= word
    v = _rounds(v, 2)
    v[0] ^= word
    return v


def _rounds(v: Words, count: int) -> Words:
    v0, v1, v2, v3 = v
    for _ in range(count):
        v0, v2 = v0 + v1, v2 + v3
        v1, v3 = _rotated(v1, 51) ^ v0, _rotated(v3, 48) ^ v2
        v0 = _rotated(v0, 32)
        v2, v0 = v2 + v1, v0 + v3
        v1, v3 = _rotated(v1, 47) ^ v2, _rotated(v3, 43) ^ v0
        v2 = _rotated(v2, 32)
    return np.stack([v0, v1, v2, v3])


def murmur64(strings: Sequence[bytes]) -> Words:
    """MurmurHash64A of each string with the seed of TensorFlow's Hash64."""
    packed = PackedStrings.of(strings)
    m = _U(0xC6A4A7935BD1E995)
    h = _U(0xDECAFCAFFE) ^ (packed.sizes.astype(np.uint64) * m)
    word_counts = packed.sizes // 8
    for i in range(int(word_counts.max(initial=0))):
        active = word_counts > i
        k = packed.only(active).word(8 * i) * m
        h[active] = (h[active] ^ (_mixed(k) * m)) * m
    left_over = packed.sizes % 8 > 0
    h[left_over] = (h[left_over] ^ packed.only(left_over).rest(word_counts[left_over] * 8)) * m
    return _mixed(_mixed(h) * m)
