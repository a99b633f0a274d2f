"""Crosses of features: in each row every combination of one feature of each column, joined or hashed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.io.feature_lists import places_of, strings_array
from tfport.runtime.ops.sparse.coordinates import checked
from tfport.runtime.ops.strings.fingerprints import fingerprint64, siphash

MOST_CROSSES = 1 << 28


class Features(NamedTuple):
    """A column: the features of all rows, where those of each row begin, and how many it has."""

    values: Any
    starts: Any
    counts: Any


def _of_sparse(indices: Any, values: Any, shape: Any) -> Features:
    dims = checked(indices, values, shape)
    if len(dims) != 2:
        raise RunFailed(f"features to cross come as matrices; one is of rank {len(dims)}")
    rows = indices[:, 0]
    if len(rows) and (rows.min() < 0 or rows.max() >= dims[0]):
        raise RunFailed(f"a feature is in a row outside of the {dims[0]}")
    counts = np.bincount(rows, minlength=dims[0])
    order = np.argsort(rows, kind="stable")
    return Features(values[order], np.cumsum(counts) - counts, counts)


def _of_dense(values: Any) -> Features:
    if values.ndim != 2:
        raise RunFailed(f"features to cross come as matrices; one has shape {values.shape}")
    height, width = values.shape
    return Features(values.reshape(-1), np.arange(height) * width, np.full(height, width))


def _of_ragged(values: Any, splits: Any) -> Features:
    if splits.ndim != 1 or not len(splits) or splits[0] != 0 or splits[-1] != len(values):
        raise RunFailed(f"splits {splits.tolist()[:9]} do not cut {len(values)} features into rows")
    if (splits[1:] < splits[:-1]).any():
        raise RunFailed(f"splits {splits.tolist()[:9]} go back")
    return Features(values, splits[:-1].astype(np.int64), np.diff(splits).astype(np.int64))


def _sparse_columns(indices: Any, values: Any, shapes: Any, dense: Any) -> list[Features]:
    if not len(indices) == len(values) == len(shapes):
        raise RunFailed(f"{len(indices)} indices are given for {len(values)} columns of features")
    return [
        *(_of_sparse(*one) for one in zip(indices, values, shapes, strict=True)),
        *(_of_dense(one) for one in dense),
    ]


def _combined(columns: Sequence[Features]) -> tuple[Any, list[Any]]:
    """How many crosses each row has, and for each cross the number of its feature in every column."""
    if len({len(column.counts) for column in columns}) != 1:
        raise RunFailed(
            f"columns have {sorted({len(c.counts) for c in columns})} rows; expected as many in each"
        )
    totals = np.prod([column.counts.astype(object) for column in columns], axis=0)
    if sum(totals) > MOST_CROSSES:
        raise RunFailed(f"there are {sum(totals)} crosses, too many")
    totals = totals.astype(np.int64)
    row = np.repeat(np.arange(len(totals)), totals)
    rest = places_of(np.zeros(len(totals), np.int64), totals, 1)
    found = []
    for column in columns[::-1]:  # the last column changes first
        size = column.counts[row]
        found.append(column.starts[row] + rest % np.maximum(size, 1))
        rest = rest // np.maximum(size, 1)
    return totals, found[::-1]


def _sparse_answer(totals: Any, values: Any) -> Any:
    rows = np.repeat(np.arange(len(totals)), totals)
    within = places_of(np.zeros(len(totals), np.int64), totals, 1)
    return np.stack([rows, within], 1), values, np.array([len(totals), totals.max(initial=0)])


def _joined(columns: Sequence[Features], which: Sequence[Any], separator: bytes) -> Any:
    texts = [[_text(v) for v in column.values.tolist()] for column in columns]
    picked = [[text[i] for i in places.tolist()] for text, places in zip(texts, which, strict=True)]
    return strings_array([separator.join(parts) for parts in zip(*picked, strict=True)])


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _hashed(columns: Sequence[Features], which: Sequence[Any], buckets: int, key: int) -> Any:
    """Hashes of crosses as the older ops make them: integers stand for themselves."""
    found = np.full(len(which[0]), key & (1 << 64) - 1, np.uint64)
    for column, places in zip(columns, which, strict=True):
        found = _together(found, _numbers(column.values)[places])
    return _bucket(found, buckets)


def _numbers(values: Any) -> Any:
    return (
        fingerprint64(values.tolist()) if values.dtype == object else values.astype(np.int64).view(np.uint64)
    )


def _together(a: Any, b: Any) -> Any:
    """One fingerprint out of two, of many pairs at once (FingerprintCat64)."""
    mul = np.uint64(0xC6A4A7935BD1E995)
    found = (a ^ mul ^ (_mixed(b * mul) * mul)) * mul
    return _mixed(_mixed(found) * mul)


def _mixed(a: Any) -> Any:
    return a ^ (a >> np.uint64(47))


def _bucket(found: Any, buckets: int) -> Any:
    return (found % np.uint64(buckets if buckets > 0 else (1 << 63) - 1)).astype(np.int64)


@host("SparseCross")
def sparse_cross(
    indices, values, shapes, dense_inputs, *, hashed_output, num_buckets, hash_key, out_type, internal_type
):
    columns = _sparse_columns(indices, values, shapes, dense_inputs)
    totals, which = _combined(columns)
    if hashed_output:
        return _sparse_answer(totals, _hashed(columns, which, num_buckets, hash_key))
    if any(column.values.dtype != object for column in columns):
        raise RunFailed("only strings can be joined here; some column has integers")
    return _sparse_answer(totals, _joined(columns, which, b"_X_"))


@host("SparseCrossV2")
def sparse_cross_v2(indices, values, shapes, dense_inputs, sep):
    columns = _sparse_columns(indices, values, shapes, dense_inputs)
    totals, which = _combined(columns)
    return _sparse_answer(totals, _joined(columns, which, sep.item()))


@host("SparseCrossHashed")
def sparse_cross_hashed(indices, values, shapes, dense_inputs, num_buckets, strong_hash, salt):
    if salt.shape != (2,):
        raise RunFailed(f"the salt is two numbers; its shape is {salt.shape}")
    columns = _sparse_columns(indices, values, shapes, dense_inputs)
    totals, which = _combined(columns)
    key = (int(salt[0]), int(salt[1])) if strong_hash else None
    hashes = [_salted(c.values, key, dense=i >= len(indices)) for i, c in enumerate(columns)]
    found = hashes[0][which[0]]
    for each, places in zip(hashes[1:], which[1:], strict=True):
        found = _together(found, each[places])
    return _sparse_answer(totals, _bucket(found, int(num_buckets)))


def _salted(values: Any, key: tuple[int, int] | None, *, dense: bool) -> Any:
    if values.dtype == object:
        flat = values.tolist()
    elif not dense:  # of its integers TensorFlow hashes four bytes, the size of its number for their type
        flat = [(value & 0xFFFFFFFF).to_bytes(4, "little") for value in values.tolist()]
    elif key is None:
        return _numbers(values)
    else:
        raise RunFailed("dense integers have no strong hash; TensorFlow stops at them")
    return fingerprint64(flat) if key is None else siphash(flat, key)


@host("RaggedCross")
def ragged_cross(
    ragged_values, ragged_row_splits, sparse_indices, sparse_values, sparse_shape, dense_inputs,
    *, input_order, hashed_output, num_buckets, hash_key, out_values_type, out_row_splits_type,
):  # fmt: skip
    waiting = {
        "R": [_of_ragged(*one) for one in zip(ragged_values, ragged_row_splits, strict=True)],
        "S": [_of_sparse(*one) for one in zip(sparse_indices, sparse_values, sparse_shape, strict=True)],
        "D": [_of_dense(one) for one in dense_inputs],
    }
    if any(input_order.count(kind) != len(columns) for kind, columns in waiting.items()):
        raise RunFailed(f"`{input_order}` is no order of the columns")
    columns = [waiting[kind].pop(0) for kind in input_order]
    totals, which = _combined(columns)
    values = (
        _hashed(columns, which, num_buckets, hash_key) if hashed_output else _joined(columns, which, b"_X_")
    )
    return values, np.concatenate([[0], np.cumsum(totals)])
