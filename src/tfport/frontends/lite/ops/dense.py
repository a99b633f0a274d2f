"""Matrix products of real numbers."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.hybrid import BLOCKWISE, is_hybrid, real_weights, rounded_rows
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.ops.convolution import biased
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value


@builtin("FULLY_CONNECTED")
def fully_connected(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    fused_activation_function: str = "NONE",
    keep_num_dims: bool = False,
    asymmetric_quantize_inputs: bool = False,
) -> Value:
    """`x @ weights.T + bias`, with the elements of x in rows as long as those of the weights."""
    columns = weights.shape[1]
    rows: Any = x if x.rank == 2 and x.shape[1] == columns else b.Reshape(x, [-1, columns])
    matrix: Any = weights
    if is_hybrid(x, weights):
        has_blocks = weights.quantization.details_type == BLOCKWISE
        rows = rounded_rows(b, rows, asymmetric=asymmetric_quantize_inputs or has_blocks)
        matrix = real_weights(b, weights)
    result = biased(b, b.MatMul(rows, matrix, transpose_b=True), bias, fused_activation_function)
    if not keep_num_dims or x.rank == 2:
        return result
    sizes = b.ConcatV2([b.StridedSlice(b.Shape(x), [0], [-1], [1], begin_mask=1), [weights.shape[0]]], 0)
    return b.Reshape(result, sizes).output(0)


@builtin("BATCH_MATMUL")
def batch_matmul(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    adj_x: bool,
    adj_y: bool,
    asymmetric_quantize_inputs: bool = False,
) -> Node:
    """Products of matrices; leading axes are broadcast."""
    if not is_hybrid(x, y):
        return b.BatchMatMulV2(x, y, adj_x=adj_x, adj_y=adj_y)
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    rows = b.Transpose(x, order) if adj_x else x
    rounded = rounded_rows(b, rows, asymmetric=asymmetric_quantize_inputs, axis=x.rank - 1)
    return b.BatchMatMulV2(rounded, real_weights(b, y), adj_y=adj_y)
