"""Matrix decompositions, inverses and solves over batches, by LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen


def square(x: Any) -> Any:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RunFailed(f"matrices must be square, found shape {list(x.shape)}")
    return x


def _matrices(x: Any) -> Any:
    if x.ndim < 2:
        raise RunFailed(f"matrices must have at least 2 axes, found shape {list(x.shape)}")
    return widen(x)


@host("Cholesky BatchCholesky")
def cholesky(input):
    x = widen(square(input))
    if not x.size:
        return x
    lower = np.tril(x)
    lower = lower + np.conj(np.swapaxes(np.tril(lower, -1), -1, -2))
    diagonal = np.arange(x.shape[-1])
    lower[..., diagonal, diagonal] = lower[..., diagonal, diagonal].real
    try:
        return np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:  # one is not positive definite: TensorFlow fills its triangle with NaN
        flat = lower.reshape(-1, *x.shape[-2:])
        return np.stack([_cholesky_or_nan(matrix) for matrix in flat]).reshape(x.shape)


def _cholesky_or_nan(matrix: Any) -> Any:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.tril(np.full_like(matrix, np.nan))


@host("CholeskyGrad BatchCholeskyGrad")
def cholesky_grad(l, grad):  # noqa: E741 - the name of the input
    lower = np.tril(square(l))
    if l.shape != grad.shape:
        raise RunFailed(f"l and grad must have the same shape, found {list(l.shape)} and {list(grad.shape)}")
    if not l.size:
        return l
    inverse = np.linalg.inv(lower)
    middle = np.tril(np.swapaxes(lower, -1, -2) @ np.tril(grad))
    diagonal = np.arange(l.shape[-1])
    middle[..., diagonal, diagonal] /= 2
    whole = np.swapaxes(inverse, -1, -2) @ middle @ inverse
    return (whole + np.swapaxes(whole, -1, -2)) / 2


@host("MatrixInverse BatchMatrixInverse")
def matrix_inverse(input, *, adjoint):
    x = widen(square(input))
    if not x.size:
        return input
    source = np.conj(np.swapaxes(x, -1, -2)) if adjoint else x
    return _solved(source, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))


def _solved(a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise RunFailed("a matrix is not invertible") from None


@host("MatrixDeterminant BatchMatrixDeterminant")
def matrix_determinant(input):
    return np.linalg.det(square(input))


@host("LogMatrixDeterminant")
def log_matrix_determinant(input):
    sign, log = np.linalg.slogdet(square(input))
    return sign, log


@host("MatrixSolve BatchMatrixSolve")
def matrix_solve(matrix, rhs, *, adjoint):
    a = _with_matching_rows(square(matrix), rhs)
    if not a.size or not rhs.size:
        return np.zeros_like(rhs)
    return _solved(np.conj(np.swapaxes(a, -1, -2)) if adjoint else a, rhs)


def _with_matching_rows(matrix: Any, rhs: Any) -> Any:
    if rhs.ndim != matrix.ndim or rhs.shape[:-1] != matrix.shape[:-1]:
        raise RunFailed(f"matrix {list(matrix.shape)} and rhs {list(rhs.shape)} do not match")
    return matrix


@host("MatrixTriangularSolve BatchMatrixTriangularSolve")
def matrix_triangular_solve(matrix, rhs, *, lower, adjoint):
    a, b = square(matrix), _matrices(rhs)
    if a.shape[-1] != b.shape[-2]:
        raise RunFailed(f"matrix {list(a.shape)} and rhs {list(b.shape)} do not match")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return solve_triangular(
        np.broadcast_to(a, (*batch, *a.shape[-2:])),
        np.broadcast_to(b, (*batch, *b.shape[-2:])),
        lower,
        adjoint,
    )


def solve_triangular(a: Any, b: Any, lower: bool, adjoint: bool) -> Any:
    from scipy.linalg import get_blas_funcs

    if not b.size:
        return np.zeros_like(b)
    (trsm,) = get_blas_funcs(("trsm",), (a, b))
    out = np.empty(b.shape, b.dtype)
    flat = out.reshape(-1, *b.shape[-2:])
    pairs = zip(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), strict=True)
    for i, (matrix, rhs) in enumerate(pairs):  # zeros on the diagonal give infinities, as in TensorFlow
        flat[i] = trsm(1, matrix, rhs, lower=lower, trans_a=2 if adjoint else 0)
    return out


@host("MatrixSolveLs BatchMatrixSolveLs")
def matrix_solve_ls(matrix, rhs, l2_regularizer, *, fast):
    if l2_regularizer.ndim or float(l2_regularizer) < 0:
        raise RunFailed(
            f"l2_regularizer must be a scalar that is not negative, found {l2_regularizer.tolist()}"
        )
    a = _matrices(matrix)
    _with_matching_rows(a, rhs)
    rows, columns = a.shape[-2:]
    shape = (*a.shape[:-2], columns, rhs.shape[-1])
    if not rows or not columns or not rhs.size:
        return np.zeros(shape, rhs.dtype)
    adjoint = np.conj(np.swapaxes(a, -1, -2))
    if not fast:
        return np.linalg.pinv(a, rcond=np.finfo(a.dtype).eps * max(rows, columns)) @ rhs
    penalty = np.asarray(l2_regularizer).astype(a.real.dtype)
    if rows >= columns:
        return _solved_positive(adjoint @ a, penalty, adjoint @ rhs)
    return adjoint @ _solved_positive(a @ adjoint, penalty, rhs)


def _solved_positive(gram: Any, penalty: Any, rhs: Any) -> Any:
    whole = gram + penalty * np.eye(gram.shape[-1], dtype=gram.dtype)
    try:
        np.linalg.cholesky(whole)
    except np.linalg.LinAlgError:
        raise RunFailed("the matrix is rank deficient") from None
    return np.linalg.solve(whole, rhs)


@host("Qr")
def qr(input, *, full_matrices):
    x = _matrices(input)
    rows, columns = x.shape[-2:]
    if not x.size:
        short = rows if full_matrices else min(rows, columns)
        q = np.broadcast_to(np.eye(rows, short, dtype=x.dtype), (*x.shape[:-2], rows, short))
        return q, np.zeros((*x.shape[:-2], short, columns), x.dtype)
    result = np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
    return result.Q, result.R


@host("Svd BatchSvd")
def svd(input, *, compute_uv, full_matrices):
    x = _matrices(input)
    rows, columns = x.shape[-2:]
    short = min(rows, columns)
    if not compute_uv:
        unused = np.zeros((), x.dtype)
        return (
            (np.linalg.svd(x, compute_uv=False) if x.size else np.zeros((*x.shape[:-2], short))),
            unused,
            unused,
        )
    if not x.size:
        wide_u, wide_v = (rows, columns) if full_matrices else (short, short)
        u, v = np.eye(rows, wide_u, dtype=x.dtype), np.eye(columns, wide_v, dtype=x.dtype)
        batch = x.shape[:-2]
        return (
            np.zeros((*batch, short)),
            np.broadcast_to(u, (*batch, *u.shape)),
            np.broadcast_to(v, (*batch, *v.shape)),
        )
    result = np.linalg.svd(x, full_matrices=full_matrices)
    return result.S, result.U, np.conj(np.swapaxes(result.Vh, -1, -2))


@host("SelfAdjointEigV2 BatchSelfAdjointEigV2")
def self_adjoint_eig_v2(input, *, compute_v):
    x = widen(square(input))
    if not compute_v:
        return np.linalg.eigvalsh(x), np.zeros((), x.dtype)
    if not x.size:
        return np.zeros(x.shape[:-1]), x
    return tuple(np.linalg.eigh(x))


@host("SelfAdjointEig BatchSelfAdjointEig")
def self_adjoint_eig(input):
    values, vectors = np.linalg.eigh(widen(square(input)))
    return np.concatenate([values[..., None, :], vectors], -2)


@host("Eig")
def eig(input, *, compute_v, Tout):
    x, unused = square(input), np.zeros((), Tout.numpy)
    if not x.size:
        return np.zeros(x.shape[:-1], Tout.numpy), x.astype(Tout.numpy) if compute_v else unused
    if not np.all(np.isfinite(x)):
        raise RunFailed("a matrix with values that are not finite has no eigenvalues")
    values, vectors = np.linalg.eig(x)
    if np.iscomplexobj(x):  # TensorFlow sorts those of complex matrices by magnitude, not those of real ones
        order = np.argsort(np.abs(values), axis=-1, kind="stable")
        values = np.take_along_axis(values, order, -1)
        vectors = np.take_along_axis(vectors, order[..., None, :], -1)
    return values, vectors if compute_v else unused


@host("Lu")
def lu(input, *, output_idx_type):
    from scipy.linalg import get_lapack_funcs

    x = square(input)
    if not x.size:
        return x, np.zeros(x.shape[:-1], np.int64)
    flat = x.reshape(-1, *x.shape[-2:])
    out, orders = np.empty_like(flat), np.empty(flat.shape[:2], np.int64)
    (getrf,) = get_lapack_funcs(("getrf",), (flat,))
    for i, matrix in enumerate(flat):
        factors, swaps, info = getrf(matrix)
        if info:
            raise RunFailed("a matrix is not invertible")
        order = np.arange(len(matrix))
        for at, other in enumerate(swaps):
            order[[at, other]] = order[[other, at]]
        out[i], orders[i] = factors, order
    return out.reshape(x.shape), orders.reshape(x.shape[:-1])
