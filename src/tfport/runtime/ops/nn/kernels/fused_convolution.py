"""Convolutions that TensorFlow's optimizer or TensorFlow.js fused with other ops."""

from __future__ import annotations

from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.fused_ops import apply_fused_ops
from tfport.runtime.ops.nn.kernels.convolution import convolution
from tfport.runtime.ops.nn.windows import DataLayout, explicit_pads
from tfport.runtime.ops.shared.precision import widen


@host("_FusedConv2D")
def fused_conv2d(
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
    if filter_format != "HWIO" or host_args:
        raise RunFailed(
            f"filter_format must be HWIO, without host_args, "
            f"found {filter_format} and {len(host_args)} host_args"
        )
    layout = DataLayout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    y = layout.to_channels_last(
        convolution(layout, widen(input), widen(filter), strides, dilations, padding, pads)
    )
    args = [_channels_last(layout, arg) for arg in args]
    return layout.from_channels_last(apply_fused_ops(y, args, fused_ops, epsilon, leakyrelu_alpha))


def _channels_last(layout: DataLayout, arg: Any) -> Any:
    """An input of a fused op: a value for each channel, or an array in the layout of the output."""
    if arg.ndim < 2:
        return arg
    return layout.to_channels_last(arg.reshape((1,) * (4 - arg.ndim) + arg.shape))


@host("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = DataLayout(data_format)
    y = layout.to_channels_last(
        convolution(layout, widen(input), widen(filter), strides, dilations, padding, depthwise=True)
    )
    return layout.from_channels_last(apply_fused_ops(y, args, fused_ops, epsilon, leakyrelu_alpha))


@host("FusedDepthwiseConv2dNative")
def tfjs_fused_depthwise_conv2d(
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
    pads = explicit_pads(layout, explicit_paddings)
    y = layout.to_channels_last(
        convolution(layout, widen(input), widen(filter), strides, dilations, padding, pads, depthwise=True)
    )
    args = [_channels_last(layout, arg) for arg in args]
    return layout.from_channels_last(apply_fused_ops(y, args, fused_ops, epsilon, leakyrelu_alpha))
