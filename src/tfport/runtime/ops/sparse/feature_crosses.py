"""Feature crosses: in each row, every combination of one feature per column, joined or hashed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import expand_ranges, string_array
from tfport.runtime.ops.sparse.coordinates import checked
from tfport.runtime.ops.strings.fingerprints import fingerprint64

MOST_CROSSES = 1 << 28


class Features(NamedTuple):
    """A column: the features of all rows, and the start and count of each row."""

    values: Any
    starts: Any
    counts: Any


def sparse_column(indices: Any, values: Any, shape: Any) -> Features:
    dims = checked(indices, values, shape)
    if len(dims) != 2:
        raise RunFailed(f"a column must be a matrix, found rank {len(dims)}")
    rows = indices[:, 0]
    if len(rows) and (rows.min() < 0 or rows.max() >= dims[0]):
        raise RunFailed(f"row indices must be in [0, {dims[0]}), found {rows.min()} to {rows.max()}")
    counts = np.bincount(rows, minlength=dims[0])
    order = np.argsort(rows, kind="stable")
    return Features(values[order], np.cumsum(counts) - counts, counts)


def dense_column(values: Any) -> Features:
    if values.ndim != 2:
        raise RunFailed(f"a column must be a matrix, found shape {list(values.shape)}")
    height, width = values.shape
    return Features(values.reshape(-1), np.arange(height) * width, np.full(height, width))


def ragged_column(values: Any, splits: Any) -> Features:
    check_splits(splits, len(values))
    return Features(values, splits[:-1].astype(np.int64), np.diff(splits).astype(np.int64))


def sparse_columns(indices: Any, values: Any, shapes: Any, dense: Any) -> list[Features]:
    if not len(indices) == len(values) == len(shapes):
        raise RunFailed(f"{len(indices)} indices for {len(values)} columns of values")
    return [
        *(sparse_column(*parts) for parts in zip(indices, values, shapes, strict=True)),
        *(dense_column(column) for column in dense),
    ]


def combinations(columns: Sequence[Features]) -> tuple[Any, list[Any]]:
    """The number of crosses per row, and the index of the feature of each cross in every column."""
    if len({len(column.counts) for column in columns}) != 1:
        raise RunFailed(
            f"columns must have the same number of rows, found {sorted({len(c.counts) for c in columns})}"
        )
    totals = np.prod([column.counts.astype(object) for column in columns], axis=0)
    if sum(totals) > MOST_CROSSES:
        raise RunFailed(f"too many crosses: {sum(totals)}")
    totals = totals.astype(np.int64)
    row = np.repeat(np.arange(len(totals)), totals)
    rest = expand_ranges(np.zeros(len(totals), np.int64), totals, 1)
    which = []
    for column in columns[::-1]:  # the last column changes first
        size = column.counts[row]
        which.append(column.starts[row] + rest % np.maximum(size, 1))
        rest = rest // np.maximum(size, 1)
    return totals, which[::-1]


def joined(columns: Sequence[Features], which: Sequence[Any], separator: bytes) -> Any:
    texts = [[_text(v) for v in column.values.tolist()] for column in columns]
    picked = [[text[i] for i in indices.tolist()] for text, indices in zip(texts, which, strict=True)]
    return string_array([separator.join(parts) for parts in zip(*picked, strict=True)])


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def hashed(columns: Sequence[Features], which: Sequence[Any], buckets: int, key: int) -> Any:
    """Hashes of crosses as in the older ops: integers are not hashed."""
    hashes = np.full(len(which[0]), key & (1 << 64) - 1, np.uint64)
    for column, indices in zip(columns, which, strict=True):
        hashes = combine_hashes(hashes, as_words(column.values)[indices])
    return bucket(hashes, buckets)


def as_words(values: Any) -> Any:
    return (
        fingerprint64(values.tolist()) if values.dtype == object else values.astype(np.int64).view(np.uint64)
    )


def combine_hashes(a: Any, b: Any) -> Any:
    """Combine pairs of fingerprints (FingerprintCat64)."""
    mul = np.uint64(0xC6A4A7935BD1E995)
    combined = (a ^ mul ^ (_mixed(b * mul) * mul)) * mul
    return _mixed(_mixed(combined) * mul)


def _mixed(a: Any) -> Any:
    return a ^ (a >> np.uint64(47))


def bucket(hashes: Any, buckets: int) -> Any:
    return (hashes % np.uint64(buckets if buckets > 0 else (1 << 63) - 1)).astype(np.int64)
