"""Matrix products."""

from __future__ import annotations

from tfport.graph.graph import Value
from tfport.lite.activations import activate
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


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
    """`x @ weights.T + bias`, with all but the last axis of x as rows."""
    if weights.dtype != x.dtype:
        raise b.refuse(f"weights of type {weights.dtype} are not supported")
    columns = weights.shape[1]
    rows = x if x.rank == 2 else b.Reshape(x, [-1, columns])
    y = b.MatMul(rows, weights, transpose_b=True)
    if bias is not None:
        y = b.BiasAdd(y, bias)
    result = activate(b, y, fused_activation_function)
    if not keep_num_dims or x.rank == 2:
        return result
    sizes = b.ConcatV2([b.StridedSlice(b.Shape(x), [0], [-1], [1], begin_mask=1), [weights.shape[0]]], 0)
    return b.Reshape(result, sizes).output(0)
