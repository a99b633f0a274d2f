"""SparseCross: feature crosses of sparse and dense columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import expand_ranges
from tfport.runtime.ops.sparse.feature_crosses import (
    as_words,
    bucket,
    combinations,
    combine_hashes,
    hashed,
    joined,
    sparse_columns,
)
from tfport.runtime.ops.strings.fingerprints import fingerprint64, siphash


def _sparse_result(totals: Any, values: Any) -> Any:
    rows = np.repeat(np.arange(len(totals)), totals)
    within = expand_ranges(np.zeros(len(totals), np.int64), totals, 1)
    return np.stack([rows, within], 1), values, np.array([len(totals), totals.max(initial=0)])


@host("SparseCross")
def sparse_cross(
    indices, values, shapes, dense_inputs, *, hashed_output, num_buckets, hash_key, out_type, internal_type
):
    columns = sparse_columns(indices, values, shapes, dense_inputs)
    totals, which = combinations(columns)
    if hashed_output:
        return _sparse_result(totals, hashed(columns, which, num_buckets, hash_key))
    if any(column.values.dtype != object for column in columns):
        raise RunFailed(
            "all columns must be strings if the output is not hashed, "
            f"found {[str(column.values.dtype) for column in columns]}"
        )
    return _sparse_result(totals, joined(columns, which, b"_X_"))


@host("SparseCrossV2")
def sparse_cross_v2(indices, values, shapes, dense_inputs, sep):
    columns = sparse_columns(indices, values, shapes, dense_inputs)
    totals, which = combinations(columns)
    return _sparse_result(totals, joined(columns, which, sep.item()))


@host("SparseCrossHashed")
def sparse_cross_hashed(indices, values, shapes, dense_inputs, num_buckets, strong_hash, salt):
    if salt.shape != (2,):
        raise RunFailed(f"salt must have 2 elements, found shape {list(salt.shape)}")
    columns = sparse_columns(indices, values, shapes, dense_inputs)
    totals, which = combinations(columns)
    key = (int(salt[0]), int(salt[1])) if strong_hash else None
    hashes = [_salted(c.values, key, dense=i >= len(indices)) for i, c in enumerate(columns)]
    combined = hashes[0][which[0]]
    for each, places in zip(hashes[1:], which[1:], strict=True):
        combined = combine_hashes(combined, each[places])
    return _sparse_result(totals, bucket(combined, int(num_buckets)))


def _salted(values: Any, key: tuple[int, int] | None, *, dense: bool) -> Any:
    if values.dtype == object:
        flat = values.tolist()
    elif not dense:  # TensorFlow hashes four bytes of an integer, whatever its type
        flat = [(value & 0xFFFFFFFF).to_bytes(4, "little") for value in values.tolist()]
    elif key is None:
        return as_words(values)
    else:
        raise RunFailed("TensorFlow has no strong hash for dense integers; use strings or a sparse column")
    return fingerprint64(flat) if key is None else siphash(flat, key)
