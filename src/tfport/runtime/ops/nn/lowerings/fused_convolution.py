"""Convolutions that TensorFlow's optimizer fused with other ops, lowered to ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.lowerings.batch_norm import affine
from tfport.runtime.ops.nn.lowerings.bias import add_bias
from tfport.runtime.ops.nn.lowerings.convolution import convolution, lowered_pads
from tfport.runtime.ops.nn.windows import DataLayout

_ACTIVATIONS = {"Relu": "Relu", "Elu": "Elu", "Tanh": "Tanh", "Sigmoid": "Sigmoid"}


def _apply_fused_ops(
    b: Builder,
    y: Operand,
    layout: DataLayout,
    args: Sequence[Operand],
    fused_ops: Sequence[str],
    epsilon: float,
    alpha: float,
) -> Operand:
    """Apply the fused ops to `y`, which has the layout of the op."""
    rest = list(args)
    for op in fused_ops:
        if op == "BiasAdd":
            y = add_bias(b, y, rest.pop(0), layout.format)
        elif op == "Add":
            y = b.Add(y, rest.pop(0))
        elif op == "FusedBatchNorm":
            scale, offset, mean, variance = (rest.pop(0) for _ in range(4))
            y = affine(b, y, layout, scale, offset, mean, variance, epsilon)
        elif op == "Relu6":
            y = b.Clip(y, b.const(0, y.dtype), b.const(6, y.dtype))
        elif op == "LeakyRelu":
            y = b.LeakyRelu(y, alpha=float(alpha))
        elif op in _ACTIVATIONS:
            y = b.nodes(_ACTIVATIONS[op], y)[0]
        else:
            raise CannotLower(f"fused op {op} is unsupported")
    return y


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
    return _apply_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)


@lower("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    b, input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = DataLayout(data_format)
    y = convolution(b, layout, input, filter, strides, dilations, padding, depthwise=True)
    return _apply_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)
