"""Convolutions that TensorFlow's optimizer or TensorFlow.js fused with other ops, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import lower
from tfport.runtime.ops.nn.lowerings.convolution import convolution, lowered_pads
from tfport.runtime.ops.nn.onnx_fused_ops import lower_fused_ops
from tfport.runtime.ops.nn.windows import DataLayout


@lower("_FusedConv2D", filter_format=("HWIO",), num_host_args=(0,))
def fused_conv2d(
    b,
    input,
    filter,
    args,
    host_args,
    *,
    num_args,
    strides,
    padding,
    explicit_paddings,
    data_format,
    filter_format,
    dilations,
    use_cudnn_on_gpu,
    fused_ops,
    epsilon,
    leakyrelu_alpha,
):
    layout = DataLayout(data_format)
    explicit = lowered_pads(layout, explicit_paddings)
    y = convolution(b, layout, input, filter, strides, dilations, padding, explicit)
    return lower_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)


@lower("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    b, input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = DataLayout(data_format)
    y = convolution(b, layout, input, filter, strides, dilations, padding, depthwise=True)
    return lower_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)


@lower("FusedDepthwiseConv2dNative")
def tfjs_fused_depthwise_conv2d(
    b,
    input,
    filter,
    args,
    *,
    strides,
    padding,
    explicit_paddings,
    data_format,
    dilations,
    fused_ops,
    epsilon,
    leakyrelu_alpha,
):
    layout = DataLayout(data_format)
    explicit = lowered_pads(layout, explicit_paddings)
    y = convolution(b, layout, input, filter, strides, dilations, padding, explicit, depthwise=True)
    return lower_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)
