"""Matrix functions, and banded and tridiagonal systems."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.linalg.kernels.decompositions import square


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply a matrix function to a batch, in the type of the input."""
    x = square(x)
    flat = x.reshape(-1, *x.shape[-2:])
    out = np.empty_like(flat)
    dtype = np.complex128 if np.iscomplexobj(x) else np.float64
    with warnings.catch_warnings():  # for singular matrices, whose results are not finite
        warnings.simplefilter("ignore")
        for i, matrix in enumerate(flat):
            answer = function(matrix.astype(dtype))
            out[i] = answer if np.iscomplexobj(out) else np.real(answer)
    return out.reshape(x.shape)


@host("MatrixExponential")
def matrix_exponential(input):
    from scipy.linalg import expm

    return _each(expm, input) if input.size else square(input)


@host("MatrixLogarithm")
def matrix_logarithm(input):
    from scipy.linalg import logm

    return _each(logm, input) if input.size else square(input)


@host("MatrixSquareRoot")
def matrix_square_root(input):
    from scipy.linalg import sqrtm

    return _each(sqrtm, input) if input.size else square(input)


def _unpacked(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> list[Any]:
    for diagonal in (superdiag, maindiag, subdiag):
        if diagonal.ndim != rhs.ndim or diagonal.shape[-2] != 1 or diagonal.shape[-1] != rhs.shape[-2]:
            raise RunFailed(f"diagonal {list(diagonal.shape)} does not match rhs {list(rhs.shape)}")
    return [np.swapaxes(diagonal, -1, -2) for diagonal in (superdiag, maindiag, subdiag)]


@host("TridiagonalMatMul")
def tridiagonal_mat_mul(superdiag, maindiag, subdiag, rhs):
    if rhs.ndim < 2:
        raise RunFailed(f"rhs must have at least 2 axes, found shape {list(rhs.shape)}")
    above, main, below = _unpacked(superdiag, maindiag, subdiag, rhs)
    out = main * rhs
    out[..., :-1, :] += above[..., :-1, :] * rhs[..., 1:, :]
    out[..., 1:, :] += below[..., 1:, :] * rhs[..., :-1, :]
    return out


@host("TridiagonalSolve")
def tridiagonal_solve(diagonals, rhs, *, partial_pivoting, perturb_singular):
    if diagonals.ndim < 2 or diagonals.shape[-2] != 3 or rhs.ndim != diagonals.ndim:
        raise RunFailed(f"diagonals {list(diagonals.shape)} and rhs {list(rhs.shape)} do not match")
    if rhs.shape[:-2] != diagonals.shape[:-2] or rhs.shape[-2] != diagonals.shape[-1]:
        raise RunFailed(f"diagonals {list(diagonals.shape)} and rhs {list(rhs.shape)} do not match")
    if perturb_singular:
        raise RunFailed("perturb_singular is not supported")
    if not rhs.size:
        return rhs
    return _pivoted(diagonals, rhs) if partial_pivoting else _unpivoted(diagonals, rhs)


def _unpivoted(diagonals: Any, rhs: Any) -> Any:
    """The Thomas algorithm, for the whole batch at once."""
    above, main, below = (diagonals[..., k, :] for k in range(3))
    size = main.shape[-1]
    ratio, out = np.zeros_like(above), np.zeros_like(rhs)
    for i in range(size):
        pivot = main[..., i] - (below[..., i] * ratio[..., i - 1] if i else 0)
        ratio[..., i] = above[..., i] / pivot
        before = below[..., i, None] * out[..., i - 1, :] if i else 0
        out[..., i, :] = (rhs[..., i, :] - before) / pivot[..., None]
    for i in reversed(range(size - 1)):
        out[..., i, :] -= ratio[..., i, None] * out[..., i + 1, :]
    return out


def _pivoted(diagonals: Any, rhs: Any) -> Any:
    from scipy.linalg import get_lapack_funcs

    (gtsv,) = get_lapack_funcs(("gtsv",), (diagonals, rhs))
    out = np.empty_like(rhs)
    flat = out.reshape(-1, *rhs.shape[-2:])
    pairs = zip(diagonals.reshape(-1, *diagonals.shape[-2:]), rhs.reshape(-1, *rhs.shape[-2:]), strict=True)
    for i, (bands, side) in enumerate(pairs):
        if bands.shape[-1] == 1:
            if bands[1, 0] == 0:
                raise RunFailed("the matrix is not invertible")
            flat[i] = side / bands[1, 0]
            continue
        *_, solution, info = gtsv(bands[2, 1:], bands[1], bands[0, :-1], side)
        if info:
            raise RunFailed("the matrix is not invertible")
        flat[i] = solution
    return out


@host("BandedTriangularSolve")
def banded_triangular_solve(matrix, rhs, *, lower, adjoint):
    """Bands are rows of the input: the main diagonal is the first if `lower`, else the last."""
    if matrix.ndim < 2 or rhs.ndim < 2 or matrix.shape[-1] != rhs.shape[-2]:
        raise RunFailed(f"bands {list(matrix.shape)} and rhs {list(rhs.shape)} do not match")
    bands, size = matrix.shape[-2:]
    if bands < 1 or bands > size:
        raise RunFailed(f"expected 1 to {size} bands, found {bands}")
    batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    full = np.zeros((*batch, size, size), matrix.dtype)
    for k in range(bands):
        if lower:
            at = np.arange(k, size)
            full[..., at, at - k] = matrix[..., k, at]
        else:
            at = np.arange(size - (bands - 1 - k))
            full[..., at, at + bands - 1 - k] = matrix[..., k, at]
    from tfport.runtime.ops.linalg.kernels.decompositions import solve_triangular

    return solve_triangular(full, np.broadcast_to(rhs, (*batch, *rhs.shape[-2:])), lower, adjoint)
