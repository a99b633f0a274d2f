"""Convolutions of real numbers."""

from __future__ import annotations

from tfport.graph.graph import Value
from tfport.lite.activations import activate
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


@builtin("CONV_2D")
def conv_2d(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    padding: str,
    stride_w: int,
    stride_h: int,
    fused_activation_function: str,
    dilation_w_factor: int,
    dilation_h_factor: int,
) -> Value:
    """Weights are (output channels, height, width, input channels)."""
    kernel = b.Transpose(weights, [1, 2, 3, 0])
    y = b.Conv2D(
        x,
        kernel,
        strides=[1, stride_h, stride_w, 1],
        dilations=[1, dilation_h_factor, dilation_w_factor, 1],
        padding=padding,
    )
    if bias is not None:
        y = b.BiasAdd(y, bias)
    return activate(b, y, fused_activation_function)
