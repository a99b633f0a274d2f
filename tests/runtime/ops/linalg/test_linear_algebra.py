"""The signs of vectors are arbitrary, so decompositions are compared by values and by their product."""

import numpy as np
import pytest
from tests.runtime.cases import assert_same, case, check, checks, f32, numbers, recorded, run, scalar

from tfport.graph.dtypes import DType

COMPLEX64, COMPLEX128, INT64 = (DType.parse(name) for name in ("complex64", "complex128", "int64"))
KINDS = (np.float32, np.float64, np.complex64, np.complex128)
ROUNDED = 2e-4  # float32 through a decomposition: other orders of the same sums


def mixed(*shape, kind=np.float32, seed=0):
    if np.dtype(kind).kind == "c":
        return (numbers(*shape, seed=seed) + 1j * numbers(*shape, seed=seed + 7)).astype(kind)
    return numbers(*shape, seed=seed, kind=kind)


def square(n=4, kind=np.float32, batch=(2,)):
    return (mixed(*batch, n, n, kind=kind) + 3 * np.eye(n)).astype(kind)


def hermitian(n=4, kind=np.float32, batch=(2,)):
    x = mixed(*batch, n, n, kind=kind)
    return (x + np.conj(np.swapaxes(x, -1, -2))).astype(kind)


def positive(n=4, kind=np.float32, batch=(2,)):
    x = np.round(mixed(*batch, n, n, kind=kind) * 16) / 16  # the product is exact, so the same everywhere
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(n)).astype(kind)


def near(op, *inputs, **attrs):
    loose = np.asarray(inputs[0]).dtype in (np.float32, np.complex64)
    return case(op, *inputs, **attrs, **({"rtol": ROUNDED} if loose else {"rtol": 1e-8}))


SINGULAR = f32([1, 2], [2, 4])
TRIANGLE = np.tril(square())
CASES_BY_VALUE = [
    *(near("Cholesky", positive(kind=k)) for k in KINDS),
    near("Cholesky", positive() + np.triu(np.ones((4, 4), np.float32), 1)),
    near("Cholesky", numbers(0, 3, 3)),
    near("Cholesky", numbers(2, 0, 0)),
    case("Cholesky", -positive()),
    case("Cholesky", numbers(2, 3), fails=True),
    *(near("CholeskyGrad", np.tril(square(kind=k)), square(kind=k)) for k in KINDS[:2]),
    *(near("MatrixInverse", square(kind=k), adjoint=a) for k in KINDS for a in (False, True)),
    near("MatrixInverse", numbers(2, 0, 0)),
    case("MatrixInverse", SINGULAR, fails=True),
    case("MatrixInverse", numbers(2, 3), fails=True),
    *(near(op, square(kind=k)) for op in ("MatrixDeterminant", "LogMatrixDeterminant") for k in KINDS),
    *(near(op, SINGULAR) for op in ("MatrixDeterminant", "LogMatrixDeterminant")),
    *(near(op, numbers(3, 0, 0)) for op in ("MatrixDeterminant", "LogMatrixDeterminant")),
    case("MatrixDeterminant", numbers(2, 3), fails=True),
    *(
        near("MatrixSolve", square(kind=k), mixed(2, 4, 3, kind=k), adjoint=a)
        for k in KINDS
        for a in (False, True)
    ),
    near("MatrixSolve", numbers(2, 0, 0), numbers(2, 0, 3)),
    case("MatrixSolve", SINGULAR, numbers(2, 1), fails=True),
    case("MatrixSolve", square(), numbers(2, 3, 3), fails=True),
    *(
        near("MatrixTriangularSolve", square(kind=k), mixed(2, 4, 3, kind=k), lower=low, adjoint=a)
        for k in KINDS
        for low in (False, True)
        for a in (False, True)
    ),
    near("MatrixTriangularSolve", TRIANGLE[:1], numbers(3, 1, 4, 2)),
    case("MatrixTriangularSolve", f32([1, 0], [2, 0]), numbers(2, 1)),
    *(
        near(
            "MatrixSolveLs",
            mixed(2, *shape, kind=k),
            mixed(2, shape[0], 2, kind=k),
            scalar(l2, np.float64),
            fast=fast,
        )
        for k in KINDS
        for shape in ((5, 3), (3, 5))
        for l2, fast in ((0.0, True), (0.5, True), (0.0, False))
    ),
    *(near("MatrixLogarithm", positive(kind=k)) for k in KINDS[2:]),
    *(near("MatrixSquareRoot", positive(kind=k)) for k in KINDS),
    case("MatrixSquareRoot", numbers(2, 3), fails=True),
    *(near("Lu", square(kind=k)) for k in KINDS),
    near("Lu", square()[:, ::-1], output_idx_type=INT64),
    near("Lu", numbers(2, 0, 0)),
    case("Lu", SINGULAR, fails=True),
    *(
        near(
            "TridiagonalSolve",
            mixed(2, 3, 5, kind=k) + np.array([0, 5, 0])[:, None].astype(k),
            mixed(2, 5, 2, kind=k),
            partial_pivoting=p,
        )
        for k in KINDS
        for p in (False, True)
    ),
    near("TridiagonalSolve", numbers(3, 1), numbers(1, 2)),
    case("TridiagonalSolve", f32([1, 0], [0, 0], [0, 1]), numbers(2, 1), partial_pivoting=False),
    case("TridiagonalSolve", numbers(3, 4), numbers(5, 2), fails=True),
    *(
        near(
            "TridiagonalMatMul", *(mixed(2, 1, 5, kind=k, seed=s) for s in (0, 1, 2)), mixed(2, 5, 3, kind=k)
        )
        for k in KINDS
    ),
    *(
        near(
            "BandedTriangularSolve",
            mixed(2, 3, 6, kind=k) + np.array([[3]] * 3).astype(k),
            mixed(2, 6, 2, kind=k),
            lower=low,
            adjoint=a,
        )
        for k in KINDS
        for low in (False, True)
        for a in (False, True)
    ),
]

SHAPES = ((4, 3), (3, 4), (3, 3))
DECOMPOSED = [
    *(near("SelfAdjointEigV2", hermitian(kind=k), compute_v=False) for k in KINDS),
    *(near("Svd", mixed(2, *shape, kind=k), compute_uv=False) for k in KINDS for shape in ((4, 3), (3, 4))),
    near("Svd", numbers(2, 0, 3), compute_uv=False),
    *(
        near("Eig", x, compute_v=False, Tout=out)
        for x, out in (
            (square().astype(np.float32), COMPLEX64),
            (square(kind=np.complex64), COMPLEX64),
            (square(kind=np.float64), COMPLEX128),
            (square(kind=np.complex128), COMPLEX128),
        )
    ),
    *(
        near("Qr", mixed(2, *shape, kind=k), full_matrices=full)
        for k in KINDS
        for shape in SHAPES
        for full in (False, True)
    ),
    *(
        near(op, mixed(2, *shape, kind=k), full_matrices=full)
        for op in ("Svd",)
        for k in KINDS
        for shape in SHAPES
        for full in (False, True)
    ),
    *(near("SelfAdjointEigV2", hermitian(kind=k)) for k in KINDS),
    near("Eig", square(), Tout=COMPLEX64),
    near("Eig", square(kind=np.complex128), Tout=COMPLEX128),
]
CASES = [*CASES_BY_VALUE, *DECOMPOSED]
for c in CASES:
    c.ways = ("engine",)  # there are no lowerings, so that every way is the same


@pytest.mark.parametrize(("c", "ways"), checks(CASES_BY_VALUE))
def test_matrices(c, ways):
    check("linear_algebra", c, ways)


def _diagonal(values, rows, columns):
    out = np.zeros((*values.shape[:-1], rows, columns), values.dtype)
    at = np.arange(values.shape[-1])
    out[..., at, at] = values
    return out


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def composed(op, answers):
    """What does not depend on signs: values, and the matrix that was decomposed."""
    if not answers[-1].ndim:  # vectors that were not asked for are anything
        return answers[:1]
    if op == "Qr":
        q, r = answers
        return [q @ r, np.abs(q[..., :, : min(q.shape[-1], r.shape[-1])]), np.abs(r), _adjoint(q) @ q]
    if op.endswith("Svd"):
        s, u, v = answers
        return [s, u @ _diagonal(s, u.shape[-1], v.shape[-1]).astype(u.dtype) @ _adjoint(v), _adjoint(u) @ u]
    if op.endswith("SelfAdjointEig"):
        values, vectors = answers[0][..., 0, :], answers[0][..., 1:, :]
    else:
        values, vectors = answers
    if op == "Eig":
        return [
            values,
            vectors @ _diagonal(values, 4, 4) @ np.linalg.inv(vectors),
            np.linalg.norm(vectors, axis=-2),
        ]
    return [
        values,
        vectors @ _diagonal(values, 4, 4).astype(vectors.dtype) @ _adjoint(vectors),
        np.abs(vectors),
    ]


@pytest.mark.parametrize(("c", "ways"), checks(DECOMPOSED))
def test_decompositions(c, ways):
    (way,) = ways
    ours, theirs = run(c, way), recorded("linear_algebra", c)
    assert [(a.dtype, a.shape) for a in ours] == [(a.dtype, a.shape) for a in theirs]
    c.atol = c.rtol
    for a, b in zip(composed(c.op, ours), composed(c.op, theirs), strict=True):
        assert_same(a, b, c)


REMOVED = [  # from newer graphs: compared with the ops that replaced them
    (case("BatchCholesky", positive()), case("Cholesky", positive())),
    (case("BatchCholeskyGrad", TRIANGLE, square()), case("CholeskyGrad", TRIANGLE, square())),
    (case("BatchMatrixInverse", square()), case("MatrixInverse", square())),
    (case("BatchMatrixDeterminant", square()), case("MatrixDeterminant", square())),
    (case("BatchMatrixSolve", square(), square()), case("MatrixSolve", square(), square())),
    (
        case("BatchMatrixTriangularSolve", square(), square()),
        case("MatrixTriangularSolve", square(), square()),
    ),
    (
        case("BatchMatrixSolveLs", square(), square(), scalar(0.5, np.float64)),
        case("MatrixSolveLs", square(), square(), scalar(0.5, np.float64)),
    ),
    (case("BatchSvd", square()), case("Svd", square())),
    (case("BatchSelfAdjointEigV2", hermitian()), case("SelfAdjointEigV2", hermitian())),
]


@pytest.mark.parametrize(("old", "new"), REMOVED, ids=str)
def test_old_names(old, new):
    for ours, theirs in zip(run(old, "host"), run(new, "host"), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("op", ["SelfAdjointEig", "BatchSelfAdjointEig"])
def test_the_first_eigendecomposition_has_values_above_vectors(op):
    (both,) = run(case(op, hermitian()), "host")
    values, vectors = run(case("SelfAdjointEigV2", hermitian()), "host")
    assert np.array_equal(both[:, 0], values)
    assert np.array_equal(both[:, 1:], vectors)


def test_the_exponential_of_old_graphs():
    """Removed from newer graphs; answered by TensorFlow 2.21 for a graph of producer 26."""
    (actual,) = run(case("MatrixExponential", f32([0.1, 0.7], [-0.3, 0.2])), "host")
    expected = [[0.9872604608535767, 0.7854482531547546], [-0.3366206884384155, 1.0994672775268555]]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_exponential_is_that_of_the_eigenvalues(kind):
    x = (square(kind=kind) / 4).astype(kind)
    (actual,) = run(case("MatrixExponential", x), "host")
    values, vectors = np.linalg.eig(x)
    expected = vectors @ _diagonal(np.exp(values), 4, 4) @ np.linalg.inv(vectors)
    assert actual.dtype == kind
    np.testing.assert_allclose(actual, expected, rtol=1e-4)
