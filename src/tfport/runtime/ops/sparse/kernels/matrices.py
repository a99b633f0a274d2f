"""CSR sparse matrices, single or batched, as variants: convert, transpose, multiply.

Ops that TensorFlow has on GPUs only (add, softmax, zeros, scale) are not implemented.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.coordinates import checked, flat_positions, in_bounds
from tfport.runtime.ops.sparse.kernels.dense import bounded_size


class SparseMatrices:
    """Matrices of the same shape in SciPy's CSR format; `shape` has 3 sizes for a batch."""

    def __init__(self, shape: tuple[int, ...], parts: list[Any]) -> None:
        self.shape, self.parts = shape, parts

    def map(self, change: Any, shape: tuple[int, ...] | None = None) -> SparseMatrices:
        return SparseMatrices(self.shape if shape is None else shape, [change(part) for part in self.parts])


def _csr(rows: Any, columns: Any, values: Any, shape: tuple[int, ...]) -> Any:
    """A matrix; explicit zeros are kept."""
    from scipy.sparse import csr_array

    order = np.argsort(rows, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return csr_array((values[order], columns[order].astype(np.int32), pointers.astype(np.int32)), shape=shape)


def _made(indices: Any, values: Any, dims: tuple[int, ...]) -> SparseMatrices:
    if len(dims) not in (2, 3):
        raise RunFailed(f"a sparse matrix must have 2 axes, or 3 for a batch; found {len(dims)}")
    in_bounds(indices, dims)
    if len(dims) == 2:
        return SparseMatrices(dims, [_csr(indices[:, 0], indices[:, 1], values, dims)])
    if dims[0] > 1 << 20:
        raise RunFailed(f"a batch of {dims[0]} sparse matrices is too large")
    mine = [indices[:, 0] == i for i in range(dims[0])]
    return SparseMatrices(dims, [_csr(indices[m, 1], indices[m, 2], values[m], dims[1:]) for m in mine])


@host("SparseTensorToCSRSparseMatrix")
def from_sparse_tensor(indices, values, dense_shape):
    return _made(indices, values, checked(indices, values, dense_shape))


@host("DenseToCSRSparseMatrix")
def from_dense(dense_input, indices):
    if indices.ndim != 2 or indices.shape[1] != dense_input.ndim:
        raise RunFailed(f"indices {list(indices.shape)} do not match dense_input {list(dense_input.shape)}")
    in_bounds(indices, dense_input.shape)
    values = dense_input.reshape(-1)[flat_positions(indices, dense_input.shape)]
    return _made(indices, values, dense_input.shape)


@host("CSRSparseMatrixToSparseTensor")
def to_sparse_tensor(sparse_matrix, *, type):
    parts = [part.tocoo() for part in sparse_matrix.parts]
    columns = [np.stack([part.coords[0], part.coords[1]], 1).astype(np.int64) for part in parts]
    if len(sparse_matrix.shape) == 3:
        numbered = enumerate(columns)
        columns = [np.concatenate([np.full((len(c), 1), i, np.int64), c], 1) for i, c in numbered]
    rank = len(sparse_matrix.shape)
    indices = np.concatenate([np.zeros((0, rank), np.int64), *columns])
    values = np.concatenate([np.zeros(0, type.numpy), *(part.data for part in parts)])
    return indices, values, np.array(sparse_matrix.shape, np.int64)


@host("CSRSparseMatrixToDense")
def to_dense(sparse_input, *, type):
    bounded_size(sparse_input.shape)
    return _stacked([part.toarray() for part in sparse_input.parts], sparse_input.shape).astype(type.numpy)


def _stacked(parts: list[Any], shape: tuple[int, ...]) -> Any:
    if len(shape) == 2:
        return parts[0]
    return np.stack(parts) if parts else np.zeros(shape)


@host("CSRSparseMatrixComponents")
def components(csr_sparse_matrix, index, *, type):
    if not 0 <= int(index) < len(csr_sparse_matrix.parts):
        raise RunFailed(f"index must be in [0, {len(csr_sparse_matrix.parts)}), found {int(index)}")
    part = csr_sparse_matrix.parts[int(index)]
    return part.indptr, part.indices, part.data


@host("SparseMatrixNNZ")
def non_zeros(sparse_matrix):
    counts = np.array([part.nnz for part in sparse_matrix.parts], np.int32)
    return counts if len(sparse_matrix.shape) == 3 else counts[0]


@host("SparseMatrixTranspose")
def transpose(input, *, conjugate, type):
    shape = (*input.shape[:-2], input.shape[-1], input.shape[-2])
    return input.map(lambda part: (part.conj() if conjugate else part).T.tocsr(), shape)


@host("SparseMatrixMatMul")
def mat_mul(a, b, *, transpose_a, transpose_b, adjoint_a, adjoint_b, transpose_output, conjugate_output):
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise RunFailed("transpose and adjoint must not both be set for the same factor")
    if b.ndim != len(a.shape) or b.shape[:-2] != a.shape[:-2]:
        raise RunFailed(f"the batch shapes of {list(a.shape)} and {list(b.shape)} differ")
    dense = b[None] if b.ndim == 2 else b
    answers = []
    for left, right in zip(a.parts, dense, strict=True):
        product = _transposed(left, transpose_a, adjoint_a) @ _transposed(right, transpose_b, adjoint_b)
        answers.append(product.T if transpose_output else product)
    out = answers[0] if b.ndim == 2 else np.stack(answers)
    return out.conj() if conjugate_output else out


def _transposed(matrix: Any, transposed: bool, adjoint: bool) -> Any:
    return matrix.conj().T if adjoint else matrix.T if transposed else matrix


@host("SparseMatrixSparseMatMul")
def sparse_mat_mul(a, b, *, type, transpose_a, transpose_b, adjoint_a, adjoint_b):
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b) or a.shape[:-2] != b.shape[:-2]:
        raise RunFailed(f"sparse matrices of shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied")
    parts = []
    for left, right in zip(a.parts, b.parts, strict=True):
        product = _transposed(left, transpose_a, adjoint_a) @ _transposed(right, transpose_b, adjoint_b)
        parts.append(product.tocsr())
        parts[-1].sort_indices()
    inner = parts[0].shape if parts else (0, 0)
    return SparseMatrices((*a.shape[:-2], *inner), parts)
