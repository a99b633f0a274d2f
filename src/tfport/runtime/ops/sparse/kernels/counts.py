"""Bin counts of sparse rows, and counts as sparse tensors."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.row_counts import bincounts, rows_of_sparse, sparse_counts


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
