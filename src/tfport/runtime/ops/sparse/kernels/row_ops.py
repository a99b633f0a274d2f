"""Ops on the rows of sparse tensors: empty rows, bin counts, feature crosses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import expand_ranges
from tfport.runtime.ops.shared.axes import full
from tfport.runtime.ops.sparse.coordinates import checked, summed
from tfport.runtime.ops.sparse.feature_crosses import (
    as_words,
    bucket,
    combinations,
    combine_hashes,
    hashed,
    joined,
    sparse_columns,
)
from tfport.runtime.ops.sparse.row_counts import bincounts, rows_of_sparse, sparse_counts
from tfport.runtime.ops.strings.fingerprints import fingerprint64, siphash


@host("SparseFillEmptyRows")
def sparse_fill_empty_rows(indices, values, dense_shape, default_value):
    dims = checked(indices, values, dense_shape)
    if not dims or default_value.ndim:
        raise RunFailed(
            "the sparse tensor must have at least 1 axis, and default_value must be a scalar; "
            f"found shapes {list(dims)} and {list(default_value.shape)}"
        )
    rows = indices[:, 0]
    if _has_all_in_order(rows, dims[0]):
        return indices, values, np.zeros(dims[0], bool), np.arange(len(rows))
    if not len(rows):
        starts = np.zeros((dims[0], len(dims)), np.int64)
        starts[:, 0] = np.arange(dims[0])
        return starts, full((dims[0],), default_value[()], values.dtype), np.ones(dims[0], bool), rows
    from_input, into, row_of, empty = filled_rows(rows, dims[0])
    out = np.zeros((len(row_of), len(dims)), np.int64)
    out[:, 0] = row_of
    out[into] = indices[from_input]
    flat = np.empty(len(row_of), values.dtype)
    flat[...] = default_value[()]
    flat[into] = values[from_input]
    back = np.empty(len(rows), np.int64)
    back[from_input] = into
    return out, flat, empty, back


def _has_all_in_order(rows: np.ndarray, count: int) -> bool:
    """Whether each row has an element, and the rows follow each other."""
    if not len(rows) or rows[0] != 0 or rows[-1] != count - 1:
        return False
    steps = rows[1:] - rows[:-1]
    return not len(steps) or (steps.min() >= 0 and steps.max() <= 1)


def filled_rows(rows: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """The order of elements by row, the output index of each, the row of each output, and empty rows."""
    if len(rows) and (rows.min() < 0 or rows.max() >= count):
        at = int(((rows < 0) | (rows >= count)).argmax())
        raise RunFailed(f"the row of element {at} must be in [0, {count}), found {rows[at]}")
    counts = np.bincount(rows, minlength=count)[:count]
    empty = counts == 0
    row_of = np.repeat(np.arange(count), np.maximum(counts, 1))
    return np.argsort(rows, kind="stable"), np.flatnonzero(~empty[row_of]), row_of, empty


@host("SparseFillEmptyRowsGrad")
def fill_empty_rows_grad(reverse_index_map, grad_values):
    if reverse_index_map.ndim != 1 or grad_values.ndim != 1:
        raise RunFailed(
            f"reverse_index_map {list(reverse_index_map.shape)} "
            f"and grad_values {list(grad_values.shape)} must be vectors"
        )
    if len(reverse_index_map) and not 0 <= reverse_index_map.min() <= reverse_index_map.max() < len(
        grad_values
    ):
        raise RunFailed(f"reverse_index_map must be in [0, {len(grad_values)})")
    rest = np.ones(len(grad_values), bool)
    rest[reverse_index_map] = False
    left = grad_values[rest]
    return grad_values[reverse_index_map], summed(np.zeros(len(left), np.int64), left, 1)[0]


@host("SparseBincount")
def sparse_bincount(indices, values, dense_shape, size, weights, *, binary_output):
    rows, row_of = rows_of_sparse(indices, values, dense_shape)
    return bincounts(rows, row_of, values, size, weights, binary_output)


@host("DenseCountSparseOutput")
def dense_count(values, weights, *, minlength, maxlength, binary_output):
    if values.ndim not in (1, 2):
        raise RunFailed(f"values must be a vector or a matrix, found shape {list(values.shape)}")
    rows, width = values.shape if values.ndim == 2 else (1, len(values))
    row_of = np.repeat(np.arange(rows), width)
    return sparse_counts(
        rows if values.ndim == 2 else None, row_of, values, weights, minlength, maxlength, binary_output
    )


@host("SparseCountSparseOutput")
def sparse_count(indices, values, dense_shape, weights, *, minlength, maxlength, binary_output):
    rows, row_of = rows_of_sparse(indices, values, dense_shape)
    return sparse_counts(rows, row_of, values, weights, minlength, maxlength, binary_output)


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
    for each, chosen in zip(hashes[1:], which[1:], strict=True):
        combined = combine_hashes(combined, each[chosen])
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
