"""StringToHashBucket ops and Fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import printable, scalar_value
from tfport.runtime.ops.strings.fingerprints import fingerprint64, murmur64, siphash
from tfport.runtime.ops.strings.known_fingerprints import FINGERPRINTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 8
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
    if len(hashes) <= FEW:
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
