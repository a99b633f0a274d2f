"""Matrix products, lowered to ONNX."""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.onnx_fused_ops import lower_fused_ops
from tfport.runtime.ops.nn.windows import DataLayout


@lower("MatMul")
def matmul(b, a, b_, *, transpose_a, transpose_b, grad_a, grad_b):
    return _product(b, a, b_, transpose_a, transpose_b)


@lower("SparseMatMul")
def sparse_matmul(b, a, b_, *, transpose_a, transpose_b, a_is_sparse, b_is_sparse):
    return _product(b, b.cast(a, FLOAT32), b.cast(b_, FLOAT32), transpose_a, transpose_b)


def _product(b: Builder, x: Operand, y: Operand, transpose_x: bool, transpose_y: bool) -> Operand:
    if x.rank not in (None, 2) or y.rank not in (None, 2):
        raise CannotLower("the inputs must be matrices")
    if (transpose_x or transpose_y) and x.dtype.is_floating:
        return b.Gemm(x, y, transA=int(transpose_x), transB=int(transpose_y))
    x = b.transpose(x, [1, 0]) if transpose_x else x
    y = b.transpose(y, [1, 0]) if transpose_y else y
    product: Operand = b.MatMul(x, y)
    product.shape = product.shape or (None, None)
    return product


@lower("BatchMatMul")
def batch_matmul(b, x, y, *, adj_x, adj_y, grad_x, grad_y):
    if rank_of(x) != rank_of(y) or rank_of(x) < 2:
        raise CannotLower("the batch shapes differ")
    # ONNX broadcasts a batch of size 1; in TensorFlow both must be 1
    if any(1 in sizes and set(sizes) != {1} for sizes in zip(x.shape[:-2], y.shape[:-2], strict=True)):
        raise CannotLower("the batch shapes may differ")
    return b.MatMul(_adjoint(b, x, adj_x), _adjoint(b, y, adj_y))


@lower("BatchMatMulV2")
def batch_matmul_v2(b, x, y, *, adj_x, adj_y, grad_x, grad_y):
    _at_least_matrices(x, y)
    return b.MatMul(_adjoint(b, x, adj_x), _adjoint(b, y, adj_y))


@lower("BatchMatMulV3")
def batch_matmul_v3(b, x, y, *, Tout, adj_x, adj_y, grad_x, grad_y):
    _at_least_matrices(x, y)
    return b.MatMul(_adjoint(b, b.cast(x, Tout), adj_x), _adjoint(b, b.cast(y, Tout), adj_y))


def _at_least_matrices(x: Operand, y: Operand) -> None:
    if any(operand.rank is not None and operand.rank < 2 for operand in (x, y)):
        raise CannotLower("the inputs must be matrices")


def _adjoint(b: Builder, x: Operand, wanted: bool) -> Operand:
    if not wanted:
        return x
    *batch, rows, columns = range(rank_of(x))
    return b.transpose(x, [*batch, columns, rows])


@lower("_FusedMatMul")
def fused_matmul(b, a, b_, args, *, transpose_a, transpose_b, fused_ops, epsilon, leakyrelu_alpha):
    product = _product(b, a, b_, transpose_a, transpose_b)
    return lower_fused_ops(b, product, DataLayout("NHWC"), args, fused_ops, epsilon, leakyrelu_alpha)
