"""Operations on matrices: decompositions, inverses and solutions; triangles, diagonals and rotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating, tensors_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import (
    batch_matmul,
    expand_dims,
    pad,
    reduce,
    reshape,
    reverse,
    select,
    slice_axis,
    squeeze,
    transpose,
)
from tfport.graph.building.node_builder import Dims
from tfport.graph.building.sizes import count_to, sizes
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType


@layer("ops.Cholesky")
def cholesky(b: LayerBuilder, x: LayerTensor, *, upper: bool = False) -> LayerTensor:
    factor = b.Cholesky(x)
    return _adjoint(b, factor) if upper else factor


@layer("ops.CholeskyInverse")
def cholesky_inverse(b: LayerBuilder, x: LayerTensor, *, upper: bool = False) -> LayerTensor:
    """The inverse of a matrix whose triangular factor is given."""
    diagonal = b.OnesLike(b.MatrixDiagPart(x))
    identity = b.MatrixDiag(diagonal)
    inverse = b.tensor(b.node("MatrixTriangularSolve", x, identity, lower=not upper), x.shape)
    return batch_matmul(b, inverse, inverse, adj_x=not upper, adj_y=upper)


@layer("ops.Inv")
def inverse(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.MatrixInverse(x)


@layer("ops.Det")
def determinant(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.MatrixDeterminant(x)


@layer("ops.Slogdet")
def log_determinant(b: LayerBuilder, x: LayerTensor) -> Sequence[LayerTensor]:
    """The sign, and the logarithm of the absolute value."""
    node = b.node("LogMatrixDeterminant", x)
    return [b.tensor(node.output(i), x.shape[:-2]) for i in (0, 1)]


@layer("ops.Logdet")
def log_determinant_of_positive(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    factor = b.Cholesky(x)
    diagonal = b.MatrixDiagPart(factor)
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
    deviation = b.Sqrt(b.MatrixDiagPart(covariance))
    scale = b.Mul(expand_dims(b, deviation, 1), expand_dims(b, deviation, 0))
    return b.Minimum(b.Maximum(b.RealDiv(covariance, scale), -1.0), 1.0)


# Triangles, diagonals and rotations of the matrices in two axes


@layer("ops.Tril")
def lower_triangle(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    return _band(b, x, -1, k) if k >= 0 else _beyond_diagonal(b, x, k, below=True)


@layer("ops.Triu")
def upper_triangle(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    return _band(b, x, -k, -1) if k <= 0 else _beyond_diagonal(b, x, k, below=False)


def _band(b: LayerBuilder, x: LayerTensor, lower: int, upper: int) -> LayerTensor:
    limits = (b.constant(limit, INT64) for limit in (lower, upper))
    return b.MatrixBandPart(x, *limits)


def _beyond_diagonal(b: LayerBuilder, x: LayerTensor, k: int, *, below: bool) -> LayerTensor:
    """The elements on one side of a diagonal that is not the main one."""
    rows, columns = (count_to(b, size) for size in sizes(b, x)[-2:])
    distance = b.Sub(expand_dims(b, columns, 0), expand_dims(b, rows, 1))
    kept = b.LessEqual(distance, k) if below else b.GreaterEqual(distance, k)
    return select(b, kept, x, b.ZerosLike(x))


@layer("ops.Diag")
def diag(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    if x.rank == 1:
        return _matrix_of(b, x, k)
    if x.rank == 2:
        return diagonal(b, x, offset=k)
    raise b.refuse(f"it gets a tensor of rank {x.rank}; expected a vector or a matrix")


@layer("ops.Diagflat")
def diagflat(b: LayerBuilder, x: LayerTensor, *, k: int = 0) -> LayerTensor:
    return _matrix_of(b, reshape(b, x, (None,)), k)


def _matrix_of(b: LayerBuilder, vector: LayerTensor, k: int) -> LayerTensor:
    """A matrix of zeros but for one diagonal."""
    matrix = b.MatrixDiag(vector)
    above, below = max(k, 0), max(-k, 0)
    return pad(b, matrix, [(below, above), (above, below)])


@layer("ops.Diagonal")
def diagonal(
    b: LayerBuilder, x: LayerTensor, *, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> LayerTensor:
    """The elements of a diagonal, as the last axis."""
    axes = [axis1 % x.rank, axis2 % x.rank]
    x = transpose(b, x, [axis for axis in range(x.rank) if axis not in axes] + axes)
    if offset:
        x = slice_axis(b, x, -1 if offset > 0 else -2, abs(offset), None)
    return b.MatrixDiagPart(x)


@layer("ops.Trace")
def trace(b: LayerBuilder, x: LayerTensor, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> LayerTensor:
    elements = diagonal(b, x, offset=offset, axis1=axis1, axis2=axis2)
    return reduce(b, "Sum", b.cast(elements, summed_type(x.dtype)), [-1])


def summed_type(dtype: DType) -> DType:
    """The type that Keras adds narrow integers in."""
    if dtype == BOOL or str(dtype) in ("int8", "int16"):
        return INT32
    return DType.parse("uint32") if str(dtype) in ("uint8", "uint16") else dtype


@layer("ops.Rot90")
def turn(b: LayerBuilder, array: LayerTensor, *, k: int = 1, axes: Sequence[int] = (0, 1)) -> LayerTensor:
    """Rotations by quarters in the plane of two axes."""
    first, second = (axis % array.rank for axis in axes)
    order = list(range(array.rank))
    order[first], order[second] = second, first
    turns = k % 4
    if turns == 2:
        if array.shape[first] is None or array.shape[first] != array.shape[second]:
            # Keras 3.15 with TensorFlow reshapes between the two quarters as if nothing had been rotated
            raise b.refuse("half turns of planes that are not square differ between the backends of Keras")
        return reverse(b, array, first, second)
    if turns == 1:
        array = reverse(b, array, second)
    if turns:
        array = transpose(b, array, order)
    return reverse(b, array, second) if turns == 3 else array


@layer("ops.Vander")
def powers(b: LayerBuilder, x: LayerTensor, *, N: int | None = None, increasing: bool = False) -> LayerTensor:
    count = x.shape[0] if N is None else N
    if count is None:
        raise b.refuse("it computes as many powers as the tensor has elements, whose number is unknown")
    exponents = np.arange(count) if increasing else np.arange(count)[::-1]
    dtype = x.dtype if x.dtype.is_floating else FLOAT32
    result = b.Pow(as_floating(b, expand_dims(b, x, -1)), b.constant(exponents, dtype))
    return b.cast(result, x.dtype)
