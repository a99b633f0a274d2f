"""FarmHash's Fingerprint64 of one short string, in plain Python; `_fingerprints` has it for many at once."""

from __future__ import annotations

import functools

LONGEST = 32
"""Bytes of a string that is short."""
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_ALL = 0xFFFFFFFFFFFFFFFF


@functools.lru_cache(maxsize=1 << 14)
def short_fingerprint64(string: bytes) -> int:
    """The fingerprint of a string of `LONGEST` bytes at most; words come again and again."""
    n = len(string)
    if n > 16:
        return _two(string, n)
    mul = (_K2 + 2 * n) & _ALL
    if n >= 8:
        a, b = (_word(string[:8]) + _K2) & _ALL, _word(string[-8:])
        return _pair((_rotated(b, 37) * mul + a) & _ALL, ((_rotated(a, 25) + b) * mul) & _ALL, mul)
    if n >= 4:
        return _pair((n + (_word(string[:4]) << 3)) & _ALL, _word(string[-4:]), mul)
    if n:
        y, z = string[0] + (string[n >> 1] << 8), n + (string[-1] << 2)
        return (_mixed((y * _K2 & _ALL) ^ (z * _K0 & _ALL)) * _K2) & _ALL
    return _K2


def _two(string: bytes, n: int) -> int:
    mul = (_K2 + 2 * n) & _ALL
    a, b = (_word(string[:8]) * _K1) & _ALL, _word(string[8:16])
    c, d = (_word(string[-8:]) * mul) & _ALL, (_word(string[-16:-8]) * _K2) & _ALL
    u = (_rotated((a + b) & _ALL, 43) + _rotated(c, 30) + d) & _ALL
    return _pair(u, (a + _rotated((b + _K2) & _ALL, 18) + c) & _ALL, mul)


def _word(part: bytes) -> int:
    return int.from_bytes(part, "little")


def _rotated(x: int, right: int) -> int:
    return (x >> right) | (x << (64 - right) & _ALL)


def _mixed(x: int) -> int:
    return x ^ (x >> 47)


def _pair(u: int, v: int, mul: int) -> int:
    a = _mixed(((u ^ v) * mul) & _ALL)
    return (_mixed(((v ^ a) * mul) & _ALL) * mul) & _ALL
