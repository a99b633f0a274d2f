"""RaggedCross: feature crosses with ragged columns."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.feature_crosses import (
    combinations,
    dense_column,
    hashed,
    joined,
    ragged_column,
    sparse_column,
)


@host("RaggedCross")
def ragged_cross(
    ragged_values, ragged_row_splits, sparse_indices, sparse_values, sparse_shape, dense_inputs,
    *, input_order, hashed_output, num_buckets, hash_key, out_values_type, out_row_splits_type,
):  # fmt: skip
    waiting = {
        "R": [ragged_column(*parts) for parts in zip(ragged_values, ragged_row_splits, strict=True)],
        "S": [sparse_column(*p) for p in zip(sparse_indices, sparse_values, sparse_shape, strict=True)],
        "D": [dense_column(column) for column in dense_inputs],
    }
    if any(input_order.count(kind) != len(columns) for kind, columns in waiting.items()):
        raise RunFailed(f"input_order `{input_order}` does not match the numbers of columns")
    columns = [waiting[kind].pop(0) for kind in input_order]
    totals, which = combinations(columns)
    values = (
        hashed(columns, which, num_buckets, hash_key) if hashed_output else joined(columns, which, b"_X_")
    )
    return values, np.concatenate([[0], np.cumsum(totals)])
