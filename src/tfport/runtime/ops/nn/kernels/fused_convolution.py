"""Convolutions with what TensorFlow's optimiser fused behind them: biases, normalization, activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import convolution
from tfport.runtime.ops.nn.windows import Layout, explicit_pads
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


def finished(y: Any, args: Sequence[Any], fused_ops: Sequence[str], epsilon: float, alpha: float) -> Any:
    """`y`, channels last, through all that was fused."""
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
            raise RunFailed(f"there is no fused op {op}")
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
        raise RunFailed(f"filters in the format {filter_format} are only known to GPUs")
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    y = layout.last(convolution(layout, widen(input), widen(filter), strides, dilations, padding, pads))
    given = [layout.last(a) if a.ndim == 4 else a for a in args]
    return layout.back(finished(y, given, fused_ops, epsilon, leakyrelu_alpha))


@host("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = Layout(data_format)
    y = layout.last(
        convolution(layout, widen(input), widen(filter), strides, dilations, padding, depthwise=True)
    )
    return layout.back(finished(y, args, fused_ops, epsilon, leakyrelu_alpha))
