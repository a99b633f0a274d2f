"""Bands and main diagonals of matrices, lowered to ONNX; the host does other diagonals."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import BOOL, INT64
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.ops.shared.lowered_sizes import numbers_of, select, whole

MOST = 1 << 20
"""The largest mask of a band that is stored as a constant, in elements."""


@lower("MatrixBandPart BatchMatrixBandPart")
def matrix_band_part(b, input, num_lower, num_upper):
    (below,), (above,) = numbers_of(num_lower, "num_lower"), numbers_of(num_upper, "num_upper")
    if rank_of(input) > 1 and max(below, above) <= 0:
        return _triangles(b, input, below, above)
    rows, columns = _matrix(input)
    if below > rows or above > columns:
        raise CannotLower("the band is larger than the matrices")
    distance = np.arange(columns) - np.arange(rows)[:, None]
    kept = ((below < 0) | (distance >= -below)) & ((above < 0) | (distance <= above))
    return select(b, b.const(kept, BOOL), input, b.const(0, input.dtype))


def _triangles(b, x, below, above):
    """Bands of matrices of any size: all of a side, or nothing beyond the main diagonal."""
    triangle = x if above < 0 else b.Trilu(x, b.const(0, INT64), upper=0)
    return triangle if below < 0 else b.Trilu(triangle, b.const(0, INT64), upper=1)


def _matrix(x):
    """The known sizes of matrices."""
    if rank_of(x) < 2 or None in x.shape[-2:] or x.shape[-2] * x.shape[-1] > MOST:
        raise CannotLower("the sizes of the matrices are unknown or large")
    return x.shape[-2:]


def _square(diagonal):
    if not rank_of(diagonal) or diagonal.shape[-1] is None or diagonal.shape[-1] ** 2 > MOST:
        raise CannotLower("the length of the diagonal is unknown or large")
    return diagonal.shape[-1]


@lower("MatrixDiag BatchMatrixDiag")
def matrix_diag(b, diagonal):
    return _on_diagonal(b, diagonal, b.const(0, diagonal.dtype))


@lower("MatrixDiagV2")
def matrix_diag_v2(b, diagonal, k, num_rows, num_cols, padding_value):
    n = _square(diagonal)
    for size in (num_rows, num_cols):
        if numbers_of(size, "the size")[0] not in (-1, n):
            raise CannotLower("the matrix is not square")
    _main(k)
    return _on_diagonal(b, diagonal, padding_value)


@lower("MatrixDiagV3")
def matrix_diag_v3(b, diagonal, k, num_rows, num_cols, padding_value, *, align):
    return matrix_diag_v2(b, diagonal, k, num_rows, num_cols, padding_value)


def _on_diagonal(b, diagonal, around):
    eye = b.const(np.eye(_square(diagonal), dtype=bool), BOOL)
    return select(b, eye, b.unsqueeze(diagonal, rank_of(diagonal)), around)


@lower("MatrixDiagPart BatchMatrixDiagPart")
def matrix_diag_part(b, input):
    rows, columns = _matrix(input)
    *batch, _, _ = (0,) * rank_of(input)
    if 0 in (rows, columns) or (input.shape[:-2] and 0 in input.shape[:-2]):
        raise CannotLower("the matrices may be empty")
    flat = b.reshape(input, *batch, rows * columns)
    indices = np.arange(min(rows, columns)) * (columns + 1)
    return b.Gather(flat, b.ints(*indices.tolist()), axis=len(batch))


@lower("MatrixDiagPartV2")
def matrix_diag_part_v2(b, input, k, padding_value):
    _main(k)
    return matrix_diag_part(b, input)


@lower("MatrixDiagPartV3")
def matrix_diag_part_v3(b, input, k, padding_value, *, align):
    _main(k)
    return matrix_diag_part(b, input)


@lower("MatrixSetDiag BatchMatrixSetDiag")
def matrix_set_diag(b, input, diagonal):
    rows, columns = _matrix(input)
    if rank_of(diagonal) != rank_of(input) - 1 or diagonal.shape[-1] != rows or rows != columns:
        raise CannotLower("the length of the diagonal is unknown, or the matrices are not square")
    if diagonal.shape[:-1] != input.shape[:-2] and rank_of(input) > 2:
        raise CannotLower("the batch shapes may differ")
    eye = b.const(np.eye(rows, dtype=bool), BOOL)
    return select(b, eye, b.unsqueeze(diagonal, rank_of(diagonal)), input)


@lower("MatrixSetDiagV2")
def matrix_set_diag_v2(b, input, diagonal, k):
    _main(k)
    return matrix_set_diag(b, input, diagonal)


@lower("MatrixSetDiagV3")
def matrix_set_diag_v3(b, input, diagonal, k, *, align):
    _main(k)
    return matrix_set_diag(b, input, diagonal)


def _main(k):
    numbers = whole(k)
    if numbers is None or set(numbers) != {0}:
        raise CannotLower("k may be another diagonal than the main one")
