"""Decompositions, inverses and solutions for the matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.frontends.keras.arrays import batch_matmul, expand_dims, reduce, sizes, squeeze, transpose
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating, tensors_of
from tfport.frontends.keras.tensor import Dims, LayerTensor


@layer("ops.Cholesky")
def cholesky(b: LayerBuilder, x: LayerTensor, *, upper: bool = False) -> LayerTensor:
    factor = b.tensor(b.node("Cholesky", x), x.shape)
    return _adjoint(b, factor) if upper else factor


@layer("ops.CholeskyInverse")
def cholesky_inverse(b: LayerBuilder, x: LayerTensor, *, upper: bool = False) -> LayerTensor:
    """The inverse of a matrix whose triangular factor is given."""
    diagonal = b.OnesLike(b.tensor(b.node("MatrixDiagPart", x), x.shape[:-1]))
    identity = b.tensor(b.node("MatrixDiag", diagonal), x.shape)
    inverse = b.tensor(b.node("MatrixTriangularSolve", x, identity, lower=not upper), x.shape)
    return batch_matmul(b, inverse, inverse, adj_x=not upper, adj_y=upper)


@layer("ops.Inv")
def inverse(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.tensor(b.node("MatrixInverse", x), x.shape)


@layer("ops.Det")
def determinant(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.tensor(b.node("MatrixDeterminant", x), x.shape[:-2])


@layer("ops.Slogdet")
def log_determinant(b: LayerBuilder, x: LayerTensor) -> Sequence[LayerTensor]:
    """The sign, and the logarithm of the absolute value."""
    node = b.node("LogMatrixDeterminant", x)
    return [b.tensor(node.output(i), x.shape[:-2]) for i in (0, 1)]


@layer("ops.Logdet")
def log_determinant_of_positive(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    factor = b.tensor(b.node("Cholesky", x), x.shape)
    diagonal = b.tensor(b.node("MatrixDiagPart", factor), x.shape[:-1])
    return b.Mul(reduce(b, "Sum", b.Log(diagonal), [-1]), 2.0)


@layer("ops.Eigh")
def eigenvalues(b: LayerBuilder, x: LayerTensor) -> Sequence[LayerTensor]:
    node = b.node("SelfAdjointEigV2", x)
    return [b.tensor(node.output(0), x.shape[:-1]), b.tensor(node.output(1), x.shape)]


@layer("ops.Qr")
def qr(b: LayerBuilder, x: LayerTensor, *, mode: str = "reduced") -> Sequence[LayerTensor]:
    complete = mode == "complete"
    node = b.node("Qr", x, full_matrices=complete)
    rows, columns = x.shape[-2:]
    inner = rows if complete else _smaller(rows, columns)
    q_shape, r_shape = (*x.shape[:-1], inner), (*x.shape[:-2], inner, columns)
    return [b.tensor(node.output(0), q_shape), b.tensor(node.output(1), r_shape)]


@layer("ops.SVD")
def svd(
    b: LayerBuilder, x: LayerTensor, *, full_matrices: bool = True, compute_uv: bool = True
) -> LayerTensor | Sequence[LayerTensor]:
    rows, columns = x.shape[-2:]
    inner = _smaller(rows, columns)
    node = b.node("Svd", x, compute_uv=compute_uv, full_matrices=full_matrices)
    values = b.tensor(node.output(0), (*x.shape[:-2], inner))
    if not compute_uv:
        return values
    outer = x.shape[:-2]
    left = b.tensor(node.output(1), (*outer, rows, rows if full_matrices else inner))
    right = b.tensor(node.output(2), (*outer, columns, columns if full_matrices else inner))
    return [left, values, _adjoint(b, right)]


@layer("ops.Solve")
def solve(builder: LayerBuilder, a: Any, b: Any) -> LayerTensor:
    return _solution(builder, "MatrixSolve", a, b)


@layer("ops.SolveTriangular")
def solve_triangular(builder: LayerBuilder, a: Any, b: Any, *, lower: bool = False) -> LayerTensor:
    return _solution(builder, "MatrixTriangularSolve", a, b, lower=lower)


def _solution(b: LayerBuilder, op: str, matrices: Any, right_side: Any, **attrs: bool) -> LayerTensor:
    """What gives the right side when it is multiplied by the matrices; that may be vectors."""
    matrices, right = tensors_of(b, matrices, right_side)
    is_vector = right.rank == matrices.rank - 1
    right = expand_dims(b, right, -1) if is_vector else right
    dims: Dims = (*right.shape[:-2], matrices.shape[-1], right.shape[-1])
    solution = b.tensor(b.node(op, matrices, right, **attrs), dims)
    return squeeze(b, solution, -1) if is_vector else solution


def _adjoint(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return transpose(b, x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


def _smaller(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


@layer("ops.CDist")
def distances(b: LayerBuilder, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    """The Euclidean distance of each row of one matrix to each row of the other."""
    difference = b.Sub(expand_dims(b, x, -2), expand_dims(b, y, -3))
    return b.Sqrt(reduce(b, "Sum", b.Square(difference), [-1]))


@layer("ops.Corrcoef")
def correlation_coefficients(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    x = as_floating(b, x)
    if x.rank != 2:
        raise b.refuse(f"it gets a tensor of rank {x.rank}; expected a matrix of one row per variable")
    centered = b.Sub(x, reduce(b, "Mean", x, [-1], keep=True))
    count = sizes(b, x)[-1]
    less = b.cast(b.Sub(count, 1), x.dtype) if isinstance(count, LayerTensor) else float(count - 1)
    covariance = b.RealDiv(batch_matmul(b, centered, centered, adj_y=True), less)
    deviation = b.Sqrt(b.tensor(b.node("MatrixDiagPart", covariance), covariance.shape[:-1]))
    scale = b.Mul(expand_dims(b, deviation, 1), expand_dims(b, deviation, 0))
    return b.Minimum(b.Maximum(b.RealDiv(covariance, scale), -1.0), 1.0)
