"""Convolutions that TensorFlow's optimizer fused with biases, normalization and activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import convolution
from tfport.runtime.ops.nn.windows import DataLayout, explicit_pads
from tfport.runtime.ops.shared.precision import widen


def _gelu(x: Any) -> Any:
    from scipy.special import erf

    return x * 0.5 * (1 + erf(x * np.sqrt(0.5)))


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "Relu": lambda x: np.maximum(x, 0),
    "Relu6": lambda x: np.clip(x, 0, 6),
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "GeluExact": _gelu,
    "GeluApproximate": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "_FusedHardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}


def apply_fused_ops(
    y: Any, args: Sequence[Any], fused_ops: Sequence[str], epsilon: float, alpha: float
) -> Any:
    """Apply the fused ops to `y`, which has channels last."""
    rest = [widen(np.asarray(arg)) for arg in args]
    for op in fused_ops:
        if op in ("BiasAdd", "Add"):
            y = y + rest.pop(0)
        elif op == "FusedBatchNorm":
            scale, offset, mean, variance = (rest.pop(0) for _ in range(4))
            y = (y - mean) * (scale / np.sqrt(variance + np.float32(epsilon))) + offset
        elif op == "LeakyRelu":
            y = np.where(y > 0, y, y * np.float32(alpha))
        elif op in _ACTIVATIONS:
            y = _ACTIVATIONS[op](y)
        else:
            raise RunFailed(f"fused op {op} is unsupported")
    return y


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
    args = [layout.to_channels_last(a) if a.ndim == 4 else a for a in args]
    return layout.from_channels_last(apply_fused_ops(y, args, fused_ops, epsilon, leakyrelu_alpha))


@host("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = DataLayout(data_format)
    y = layout.to_channels_last(
        convolution(layout, widen(input), widen(filter), strides, dilations, padding, depthwise=True)
    )
    return layout.from_channels_last(apply_fused_ops(y, args, fused_ops, epsilon, leakyrelu_alpha))
