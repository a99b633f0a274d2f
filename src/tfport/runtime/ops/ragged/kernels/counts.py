"""Bin counts of ragged rows."""

from __future__ import annotations

from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.row_counts import bincounts, rows_of_splits, sparse_counts


@host("RaggedBincount")
def ragged_bincount(splits, values, size, weights, *, binary_output):
    rows, row_of = rows_of_splits(splits, len(values))
    return bincounts(rows, row_of, values, size, weights, binary_output)


@host("RaggedCountSparseOutput")
def ragged_count(splits, values, weights, *, minlength, maxlength, binary_output):
    rows, row_of = rows_of_splits(splits, len(values))
    return sparse_counts(rows, row_of, values, weights, minlength, maxlength, binary_output)
