"""Diagonals and bands of matrices: extract, set, and build matrices from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import full, zero_of

_LEFT = "LEFT_LEFT"


@host("MatrixBandPart BatchMatrixBandPart")
def matrix_band_part(input, num_lower, num_upper):
    rows, columns = _matrix(input)
    below, above = int(num_lower.reshape(())), int(num_upper.reshape(()))
    if below > rows or above > columns:
        raise RunFailed(f"num_lower={below}, num_upper={above} exceed matrices of {rows} by {columns}")
    distance = np.arange(columns) - np.arange(rows)[:, None]
    kept = (below < 0) | (distance >= -below)
    kept = kept & ((above < 0) | (distance <= above))
    return np.where(kept, input, zero_of(input.dtype))


def _matrix(x):
    if x.ndim < 2:
        raise RunFailed(f"the input must have at least 2 axes, found {x.ndim}")
    return x.shape[-2:]


@host("Diag")
def diag(diagonal):
    if not diagonal.ndim:
        raise RunFailed("the input must have at least 1 axis, found a scalar")
    matrix = np.zeros((diagonal.size, diagonal.size), diagonal.dtype)
    np.fill_diagonal(matrix, diagonal.reshape(-1))
    return matrix.reshape(diagonal.shape * 2)


@host("DiagPart")
def diag_part(input):
    half = input.ndim // 2
    if not half or input.ndim % 2 or input.shape[:half] != input.shape[half:]:
        raise RunFailed(f"the shape of the input must repeat itself, found {list(input.shape)}")
    size = int(np.prod(input.shape[:half]))
    return np.diagonal(input.reshape(size, size)).reshape(input.shape[:half])


@host("MatrixDiag BatchMatrixDiag")
def matrix_diag(diagonal):
    if not diagonal.ndim:
        raise RunFailed("the input must have at least 1 axis, found a scalar")
    n = diagonal.shape[-1]
    matrix = full((*diagonal.shape, n), zero_of(diagonal.dtype), diagonal.dtype)
    matrix[..., np.arange(n), np.arange(n)] = diagonal
    return matrix


@host("MatrixDiagPart BatchMatrixDiagPart")
def matrix_diag_part(input):
    _matrix(input)
    return np.diagonal(input, axis1=-2, axis2=-1)


@host("MatrixSetDiag BatchMatrixSetDiag")
def matrix_set_diag(input, diagonal):
    return _set_diagonals(input, diagonal, 0, 0, _LEFT)


@host("MatrixDiagV2")
def matrix_diag_v2(diagonal, k, num_rows, num_cols, padding_value):
    return _from_diagonals(diagonal, k, num_rows, num_cols, padding_value, _LEFT)


@host("MatrixDiagV3")
def matrix_diag_v3(diagonal, k, num_rows, num_cols, padding_value, *, align):
    return _from_diagonals(diagonal, k, num_rows, num_cols, padding_value, align)


@host("MatrixDiagPartV2")
def matrix_diag_part_v2(input, k, padding_value):
    return _diagonals(input, k, padding_value, _LEFT)


@host("MatrixDiagPartV3")
def matrix_diag_part_v3(input, k, padding_value, *, align):
    return _diagonals(input, k, padding_value, align)


@host("MatrixSetDiagV2")
def matrix_set_diag_v2(input, diagonal, k):
    return _set_diagonals(input, diagonal, *_range(k), _LEFT)


@host("MatrixSetDiagV3")
def matrix_set_diag_v3(input, diagonal, k, *, align):
    return _set_diagonals(input, diagonal, *_range(k), align)


def _range(k: Any) -> tuple[int, int]:
    """The lowest and the highest diagonal."""
    if k.ndim > 1 or k.size not in (1, 2):
        raise RunFailed(f"k must be a scalar or a vector of 1 or 2 elements, found shape {list(k.shape)}")
    lowest, highest = int(k.reshape(-1)[0]), int(k.reshape(-1)[-1])
    if lowest > highest:
        raise RunFailed(f"k must not decrease, found {lowest} to {highest}")
    return lowest, highest


def _check_range(lowest, highest, rows, columns):
    for k in (lowest, highest):
        if not (-rows < k < columns or k == 0):
            raise RunFailed(f"diagonal {k} is out of range for matrices of {rows} by {columns}")


def _indices(k, rows, columns, length, align):
    """The rows and columns of diagonal `k`, and its span in a packed row of this length."""
    count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    above, below = align.split("_")
    left = (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")
    start = 0 if left else length - count
    steps = np.arange(count)
    return steps + max(-k, 0), steps + max(k, 0), slice(start, start + count)


def _longest(lowest, highest, rows, columns):
    return max(min(rows + min(highest, 0), columns - max(lowest, 0)), 0)


def _diagonals(x, k, padding_value, align):
    rows, columns = _matrix(x)
    lowest, highest = _range(k)
    _check_range(lowest, highest, rows, columns)
    length = _longest(lowest, highest, rows, columns)
    band = full((*x.shape[:-2], highest - lowest + 1, length), padding_value[()], x.dtype)
    for i, at in enumerate(range(highest, lowest - 1, -1)):
        down, across, span = _indices(at, rows, columns, length, align)
        band[..., i, span] = x[..., down, across]
    return band[..., 0, :] if lowest == highest else band


def _set_diagonals(x, diagonal, lowest, highest, align):
    rows, columns = _matrix(x)
    _check_range(lowest, highest, rows, columns)
    length = _longest(lowest, highest, rows, columns)
    band = () if lowest == highest else (highest - lowest + 1,)
    wanted = (*x.shape[:-2], *band, length)
    if diagonal.shape != wanted:
        raise RunFailed(f"diagonal must have shape {list(wanted)}, found {list(diagonal.shape)}")
    return _with_diagonals(x.copy(), diagonal, lowest, highest, align)


def _with_diagonals(matrix, diagonal, lowest, highest, align):
    rows, columns = matrix.shape[-2:]
    length = diagonal.shape[-1]
    band = diagonal[..., None, :] if lowest == highest else diagonal
    for i, at in enumerate(range(highest, lowest - 1, -1)):
        down, across, span = _indices(at, rows, columns, length, align)
        matrix[..., down, across] = band[..., i, span]
    return matrix


def _from_diagonals(diagonal, k, num_rows, num_cols, padding_value, align):
    lowest, highest = _range(k)
    if not diagonal.ndim or (lowest != highest and diagonal.ndim < 2):
        raise RunFailed(f"diagonal must have an axis for its elements, found shape {list(diagonal.shape)}")
    batch = diagonal.shape[:-1]
    if lowest != highest:
        *batch, count = batch
        if count != highest - lowest + 1:
            raise RunFailed(f"expected the diagonals from {lowest} to {highest}, found {count}")
    length = diagonal.shape[-1]
    least = length - min(highest, 0), length + max(lowest, 0)
    rows, columns = int(num_rows.reshape(())), int(num_cols.reshape(()))
    if rows == -1 and columns == -1:
        rows = columns = max(least)
    elif rows == -1:
        rows = least[0]
    elif columns == -1:
        columns = least[1]
    if rows < least[0] or columns < least[1] or (rows != least[0] and columns != least[1]):
        raise RunFailed(f"diagonals of length {length} do not fit a matrix of {rows} by {columns}")
    matrix = full((*batch, rows, columns), padding_value[()], diagonal.dtype)
    return _with_diagonals(matrix, diagonal, lowest, highest, align)
