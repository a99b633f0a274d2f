import numpy as np
import pytest
from tests.runtime.cases import c64, check, checks, f32, f64, graph_case, i64, numbers

A = (i64([0, 1], [1, 0], [1, 3], [3, 2]), f32(1.5, -2, 3, 4), i64(4, 4))
B = (i64([0, 1], [1, 1], [2, 0]), f32(-1.5, 5, 6), i64(4, 4))
BATCH = (i64([0, 0, 1], [1, 0, 0], [1, 2, 1]), f32(1, 2, 3), i64(2, 3, 2))
EMPTY = (np.zeros((0, 2), np.int64), f32(), i64(2, 3))
COMPLEX = (A[0], c64(1, 2j, 3, 1 - 1j), A[2])
READ = """
    {0}i = Placeholder() {{dtype=int64, shape=(?, {2})}}
    {0}v = Placeholder() {{dtype={1}, shape=(?)}}
    {0}s = Placeholder() {{dtype=int64, shape=({2})}}
    {0} = SparseTensorToCSRSparseMatrix({0}i, {0}v, {0}s) {{T={1}}}
"""
BACK = "y = CSRSparseMatrixToSparseTensor(%s) {type=%s}\n"
OUT = ["y:0", "y:1", "y:2"]


def fed(name, parts):
    return {f"{name}{letter}": part for letter, part in zip("ivs", parts, strict=True)}


def on_matrix(text, parts, *, fetches="y:0", kind="float32", fails=False, **more):
    return graph_case(
        READ.format("a", kind, len(parts[2])) + text.replace("TYPE", kind),
        fetches=fetches,
        fails=fails,
        **fed("a", parts),
        **more,
    )


def on_matrices(text, a, b, *, fetches=OUT, fails=False, **more):
    both = READ.format("a", "float32", 2) + READ.format("b", "float32", 2)
    return graph_case(both + text, fetches=fetches, fails=fails, **fed("a", a), **fed("b", b), **more)


def product(parts, dense, *, kind="float32", fails=False, **flags):
    attrs = ", ".join(f"{name}=true" for name in flags) or "transpose_a=false"
    text = f"d = Placeholder() {{dtype={kind}}}\ny = SparseMatrixMatMul(a, d) {{T={kind}, {attrs}}}\n"
    return on_matrix(text, parts, kind=kind, d=dense, fails=fails)


CASES = [
    *(on_matrix(BACK % ("a", "TYPE"), parts, fetches=OUT) for parts in (A, BATCH, EMPTY)),
    *(on_matrix("y = CSRSparseMatrixToDense(a) {type=TYPE}\n", parts) for parts in (A, BATCH, EMPTY)),
    *(on_matrix("y = SparseMatrixNNZ(a)\n", parts) for parts in (A, BATCH, EMPTY)),
    on_matrix(
        "n = Const() {dtype=int32, value=int32()[1]}\ny = CSRSparseMatrixComponents(a, n) {type=TYPE}\n",
        BATCH,
        fetches=OUT,
    ),
    on_matrix(
        "n = Const() {dtype=int32, value=int32()[2]}\ny = CSRSparseMatrixComponents(a, n) {type=TYPE}\n",
        BATCH,
        fetches=OUT,
        fails=True,
    ),
    on_matrix("t = SparseMatrixTranspose(a) {type=TYPE}\n" + BACK % ("t", "TYPE"), BATCH, fetches=OUT),
    on_matrix(
        "t = SparseMatrixTranspose(a) {type=TYPE, conjugate=true}\n" + BACK % ("t", "TYPE"),
        COMPLEX,
        fetches=OUT,
        kind="complex64",
    ),
    product(A, numbers(4, 3)),
    product(A, numbers(3, 4), transpose_b=True),
    product(A, numbers(4, 3), transpose_a=True),
    product(A, numbers(4, 3), transpose_output=True),
    product(COMPLEX, c64([1j], [2], [3], [1 + 1j]), kind="complex64", adjoint_a=True, conjugate_output=True),
    product(BATCH, numbers(2, 2, 3)),
    product(A, numbers(3, 3), fails=True),
    on_matrices("t = SparseMatrixSparseMatMul(a, b) {type=float32}\n" + BACK % ("t", "float32"), A, B),
    on_matrices(
        "t = SparseMatrixSparseMatMul(a, b) {type=float32, transpose_a=true}\n" + BACK % ("t", "float32"),
        A,
        B,
    ),
    graph_case(
        "x = Placeholder() {dtype=float32, shape=(?, ?)}\ni = Placeholder() {dtype=int64, shape=(?, 2)}\n"
        "a = DenseToCSRSparseMatrix(x, i) {T=float32}\n" + BACK % ("a", "float32"),
        fetches=OUT,
        x=numbers(3, 3),
        i=i64([0, 1], [2, 2]),
    ),
    on_matrix(BACK % ("a", "TYPE"), (A[0], f64(1, 2, 3, 4), A[2]), fetches=OUT, kind="float64"),
    on_matrix(BACK % ("a", "TYPE"), (i64([0]), f32(1), i64(2)), fetches=OUT, fails=True),
    on_matrix(BACK % ("a", "TYPE"), (i64([0, 9]), f32(1), i64(2, 2)), fetches=OUT, fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_sparse_matrices(c, ways):
    check("sparse_matrices", c, ways)
