"""Matrix products and cross products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.fused_ops import apply_fused_ops
from tfport.runtime.ops.shared.axes import same_shapes
from tfport.runtime.ops.shared.precision import widen


@host("MatMul")
def matmul(a, b, *, transpose_a, transpose_b, grad_a, grad_b):
    return _product(a, b, transpose_a, transpose_b)


@host("SparseMatMul")
def sparse_matmul(a, b, *, transpose_a, transpose_b, a_is_sparse, b_is_sparse):
    return _product(a, b, transpose_a, transpose_b)


def _product(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise RunFailed(f"the inputs must be matrices, found shapes {list(a.shape)} and {list(b.shape)}")
    return _matmul(a.T if transpose_a else a, b.T if transpose_b else b)


def _matmul(x: Any, y: Any) -> Any:
    return np.matmul(widen(x), widen(y))


@host("BatchMatMul")
def batch_matmul(x, y, *, adj_x, adj_y, grad_x, grad_y):
    if x.shape[:-2] != y.shape[:-2]:
        raise RunFailed(f"the batch shapes of {list(x.shape)} and {list(y.shape)} differ")
    return _batches(x, y, adj_x, adj_y)


@host("BatchMatMulV2")
def batch_matmul_v2(x, y, *, adj_x, adj_y, grad_x, grad_y):
    return _batches(x, y, adj_x, adj_y)


@host("BatchMatMulV3")
def batch_matmul_v3(x, y, *, Tout, adj_x, adj_y, grad_x, grad_y):
    return _batches(widen(x.astype(Tout.numpy)), widen(y.astype(Tout.numpy)), adj_x, adj_y)


def _batches(x: Any, y: Any, adj_x: bool, adj_y: bool) -> Any:
    if x.ndim < 2 or y.ndim < 2:
        raise RunFailed(f"the inputs must be matrices, found shapes {list(x.shape)} and {list(y.shape)}")
    return _matmul(_adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y)


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@host("_FusedMatMul")
def fused_matmul(a, b, args, *, transpose_a, transpose_b, fused_ops, epsilon, leakyrelu_alpha):
    product = _product(widen(a), widen(b), transpose_a, transpose_b)
    return apply_fused_ops(product, args, fused_ops, epsilon, leakyrelu_alpha)


@host("Cross")
def cross(a, b):
    same_shapes(a, b)
    if not a.ndim or a.shape[-1] != 3:
        raise RunFailed(f"cross products need vectors of 3 elements, found shape {list(a.shape)}")
    x, y = widen(a), widen(b)
    pairs = ((1, 2), (2, 0), (0, 1))
    return np.stack([x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in pairs], axis=-1)
