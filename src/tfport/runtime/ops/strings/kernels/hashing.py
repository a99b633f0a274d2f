"""StringToHashBucket ops and Fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import printable, scalar_value
from tfport.runtime.ops.strings.fingerprints import fingerprint64, murmur64, siphash

if TYPE_CHECKING:
    from numpy.typing import NDArray


FEW_HASHES = 8
"""Up to this many remainders are computed one by one: NumPy's calls take longer."""


@host("StringToHashBucketFast")
def string_to_hash_bucket_fast(input, *, num_buckets):
    return _bucket(FINGERPRINTS.of(input.reshape(-1).tolist()), num_buckets, input.shape)


@host("StringToHashBucket")
def string_to_hash_bucket(string_tensor, *, num_buckets):
    return _bucket(murmur64(string_tensor.reshape(-1).tolist()), num_buckets, string_tensor.shape)


@host("StringToHashBucketStrong")
def string_to_hash_bucket_strong(input, *, num_buckets, key):
    if len(key) != 2:
        raise RunFailed(f"key must have two elements, found {len(key)}")
    return _bucket(siphash(input.reshape(-1).tolist(), key), num_buckets, input.shape)


def _bucket(hashes: NDArray[Any], count: int, shape: Any) -> NDArray[Any]:
    if count < 1:
        raise RunFailed(f"num_buckets must be at least 1, found {count}")
    if len(hashes) <= FEW_HASHES:
        return np.array([number % count for number in hashes.tolist()], np.int64).reshape(shape)
    return (hashes % np.uint64(count)).astype(np.int64).reshape(shape)


@host("Fingerprint")
def fingerprint(data, method):
    if not data.ndim:
        raise RunFailed("data must have rank 1 or more, found a scalar")
    if scalar_value(method, "method") != b"farmhash64":
        raise RunFailed(f"method must be `farmhash64`, found `{printable(method[()])}`")
    rows = data.reshape(len(data), int(np.prod(data.shape[1:])))
    if data.dtype == object and rows.shape[1] != 1:
        # rows of several strings: hash the fingerprints of the strings
        rows = fingerprint64(rows.reshape(-1).tolist()).reshape(rows.shape)
    if rows.dtype == object:
        hashes = fingerprint64(rows[:, 0].tolist())
    else:
        hashes = fingerprint64([row.tobytes() for row in rows])
    return hashes.astype("<u8").view(np.uint8).reshape(len(rows), 8)


# Fingerprints of strings of which many were hashed before.
#
# Words, n-grams and padding repeat, within a text and in the next one, so the fingerprints of short strings
# are kept. Others are computed one by one if there are few of them, and else all at once.

FEW = 48
"""Up to this many short strings are hashed one by one."""
MOST_KNOWN = 1 << 14
"""When there would be more than this many fingerprints, the known ones are forgotten."""
LONGEST = 64
"""Maximum length of a short string, in bytes."""
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MASK = 0xFFFFFFFFFFFFFFFF


class KnownFingerprints:
    """FarmHash's Fingerprint64 of strings; those of short ones are kept."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}

    def of(self, strings: Sequence[bytes]) -> NDArray[Any]:
        """The fingerprint of each string."""
        known = self.known  # another thread may replace it; none removes anything from it
        hashes = list(map(known.get, strings))
        if None in hashes:
            missing = list(
                dict.fromkeys(s for s, value in zip(strings, hashes, strict=True) if value is None)
            )
            new = dict(zip(missing, _computed(missing), strict=True))
            self._keep({string: new[string] for string in missing if len(string) <= LONGEST})
            hashes = [new[s] if value is None else value for s, value in zip(strings, hashes, strict=True)]
        return np.array(hashes, np.uint64)

    def _keep(self, new: dict[bytes, int]) -> None:
        if len(self.known) + len(new) <= MOST_KNOWN:
            self.known.update(new)
        else:
            self.known = new if len(new) <= MOST_KNOWN else {}


def _computed(strings: Sequence[bytes]) -> list[int]:
    if len(strings) <= FEW and max(map(len, strings)) <= LONGEST:
        return [short_fingerprint64(string) for string in strings]
    fingerprints: list[int] = fingerprint64(strings).tolist()
    return fingerprints


FINGERPRINTS = KnownFingerprints()


def short_fingerprint64(string: bytes) -> int:
    """The fingerprint of one string of at most `LONGEST` bytes; `fingerprints` hashes many at once."""
    n = len(string)
    if n > 32:
        return _up_to_64_bytes(string, n)
    if n > 16:
        return _up_to_32_bytes(string, n)
    mul = (_K2 + 2 * n) & _MASK
    if n >= 8:
        a, b = (_word(string[:8]) + _K2) & _MASK, _word(string[-8:])
        return _pair((_rotated(b, 37) * mul + a) & _MASK, ((_rotated(a, 25) + b) * mul) & _MASK, mul)
    if n >= 4:
        return _pair((n + (_word(string[:4]) << 3)) & _MASK, _word(string[-4:]), mul)
    if n:
        y, z = string[0] + (string[n >> 1] << 8), n + (string[-1] << 2)
        return (_mixed((y * _K2 & _MASK) ^ (z * _K0 & _MASK)) * _K2) & _MASK
    return _K2


def _up_to_32_bytes(string: bytes, n: int) -> int:
    mul = (_K2 + 2 * n) & _MASK
    a, b = (_word(string[:8]) * _K1) & _MASK, _word(string[8:16])
    c, d = (_word(string[-8:]) * mul) & _MASK, (_word(string[-16:-8]) * _K2) & _MASK
    u = (_rotated((a + b) & _MASK, 43) + _rotated(c, 30) + d) & _MASK
    return _pair(u, (a + _rotated((b + _K2) & _MASK, 18) + c) & _MASK, mul)


def _up_to_64_bytes(string: bytes, n: int) -> int:
    mul = (_K2 + 2 * n) & _MASK
    a, b = (_word(string[:8]) * _K2) & _MASK, _word(string[8:16])
    c, d = (_word(string[-8:]) * mul) & _MASK, (_word(string[-16:-8]) * _K2) & _MASK
    y = (_rotated((a + b) & _MASK, 43) + _rotated(c, 30) + d) & _MASK
    z = _pair(y, (a + _rotated((b + _K2) & _MASK, 18) + c) & _MASK, mul)
    e, f = (_word(string[16:24]) * mul) & _MASK, _word(string[24:32])
    g = ((y + _word(string[-32:-24])) * mul) & _MASK
    h = ((z + _word(string[-24:-16])) * mul) & _MASK
    u = (_rotated((e + f) & _MASK, 43) + _rotated(g, 30) + h) & _MASK
    return _pair(u, (e + _rotated((f + a) & _MASK, 18) + g) & _MASK, mul)


def _word(part: bytes) -> int:
    return int.from_bytes(part, "little")


def _rotated(x: int, right: int) -> int:
    return (x >> right) | (x << (64 - right) & _MASK)


def _mixed(x: int) -> int:
    return x ^ (x >> 47)


def _pair(u: int, v: int, mul: int) -> int:
    a = _mixed(((u ^ v) * mul) & _MASK)
    return (_mixed(((v ^ a) * mul) & _MASK) * mul) & _MASK
