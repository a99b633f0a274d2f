"""Convolutions and matrix products of real numbers."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.hybrid import BLOCKWISE, is_hybrid, real_weights, rounded_rows
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.windows import Convolution2D, Convolution3D, Windows2D
from tfport.graph.graph import Node, Value


@builtin("CONV_2D")
def conv_2d(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    windows: Convolution2D = Convolution2D,  # type: ignore[assignment]
) -> Value:
    """Weights are (output channels, height, width, input channels); fewer of these are groups."""
    scales_differ = len(set(weights.quantization.scale)) > 1
    features, kernel = _operands(b, x, weights, asymmetric=scales_differ or _groups(x, weights) > 1)
    y = b.Conv2D(features, b.Transpose(kernel, [1, 2, 3, 0]), **windows.attrs)
    return biased(b, y, bias, windows.fused_activation_function)


@builtin("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    depth_multiplier: int,
    windows: Convolution2D = Convolution2D,  # type: ignore[assignment]
) -> Value:
    """Weights are (1, height, width, channels): those of one input channel are neighbors."""
    _, height, width, channels = weights.record.shape
    depth = x.shape[-1] or channels // max(depth_multiplier, 1)
    if not depth or channels % depth:
        raise b.refuse(f"its weights have {channels} channels, its input {depth}; expected a multiple")
    features, kernel = _operands(b, x, weights, asymmetric=True)
    each = b.Reshape(kernel, [height, width, depth, channels // depth])
    y = b.DepthwiseConv2dNative(features, each, **windows.attrs)
    return biased(b, y, bias, windows.fused_activation_function)


@builtin("CONV_3D")
def conv_3d(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    windows: Convolution3D = Convolution3D,  # type: ignore[assignment]
) -> Value:
    """Weights are (depth, height, width, input channels, output channels), as in TensorFlow."""
    return biased(b, b.Conv3D(x, weights, **windows.attrs), bias, windows.fused_activation_function)


@builtin("TRANSPOSE_CONV")
def transpose_conv(
    b: OperatorBuilder,
    output_shape: LiteValue,
    weights: LiteValue,
    x: LiteValue,
    bias: LiteValue | None = None,
    *,
    windows: Windows2D = Windows2D,  # type: ignore[assignment]
) -> Value:
    """Weights are (output channels, height, width, input channels)."""
    y = b.Conv2DBackpropInput(output_shape, b.Transpose(weights, [1, 2, 0, 3]), x, **windows.attrs)
    return biased(b, y, bias, windows.fused_activation_function)


@builtin("CONV_3D_TRANSPOSE")
def conv_3d_transpose(
    b: OperatorBuilder,
    output_shape: LiteValue,
    weights: LiteValue,
    x: LiteValue,
    bias: LiteValue | None = None,
    *,
    windows: Convolution3D = Convolution3D,  # type: ignore[assignment]
) -> Value:
    """Weights are (depth, height, width, output channels, input channels), as in TensorFlow."""
    y = b.Conv3DBackpropInputV2(output_shape, weights, x, **windows.attrs)
    return biased(b, y, bias, windows.fused_activation_function)


def biased(b: OperatorBuilder, y: Node, bias: LiteValue | None, activation: str) -> Value:
    """The result of a convolution or product with its bias and activation.

    The interpreter only counts its elements, except for DEPTHWISE_CONV_2D: [1, channels] is a bias too.
    """
    if bias is None:
        return activate(b, y, activation)
    is_flat = len(bias.record.shape) == 1 or b.operator.code.op == "DEPTHWISE_CONV_2D"
    return activate(b, b.BiasAdd(y, bias if is_flat else b.Reshape(bias, [-1])), activation)


def _groups(x: LiteValue, weights: LiteValue) -> int:
    depth, group = x.shape[-1], weights.shape[-1]
    return depth // group if depth and group else 1


def _operands(b: OperatorBuilder, x: LiteValue, weights: LiteValue, *, asymmetric: bool) -> tuple[Any, Any]:
    """The activations and weights; rounded and real ones if the weights are integers."""
    if not is_hybrid(x, weights):
        return x, weights
    return rounded_rows(b, x, asymmetric=asymmetric), real_weights(b, weights)


# Matrix products


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
