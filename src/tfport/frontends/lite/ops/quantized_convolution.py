"""Convolutions and matrix products of quantized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import quantized_multiplier, quantized_multipliers
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.quantized_value import (
    INT8,
    INT16,
    QuantizedOutput,
    QuantizedValue,
    as_stored,
    quantized_input,
    quantized_output,
)
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.windows import Convolution2D
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Value

MANY_CHANNELS = 1 << 16
"""More than networks have: a damaged shape may say so of weights that are not in the file."""


@quantized("CONV_2D")
def conv_2d(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    quantized_bias_type: str,
    windows: Convolution2D = Convolution2D,  # type: ignore[assignment]
) -> Value:
    """Weights are (output channels, height, width, input channels of a group)."""
    filter, zero = signed_weights(b, weights, (1, 2, 3, 0))
    depth, per_group = x.shape[3], weights.shape[3]
    if depth is None or not per_group or depth % per_group:
        raise b.refuse(f"weights for {per_group} channels do not match an input with {depth}")
    options = {
        "strides": windows.strides[1:3],
        "dilations": windows.dilations[1:3],
        "padding": windows.padding,
        "groups": depth // per_group,
        "filter_zero": zero,
    }
    channels = weights.record.shape[0]
    return _convolve(b, x, weights, filter, bias, channels, windows.fused_activation_function, options)


@quantized("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    depth_multiplier: int,
    windows: Convolution2D = Convolution2D,  # type: ignore[assignment]
) -> Value:
    """Weights are (1, height, width, output channels)."""
    filter, zero = signed_weights(b, weights, (1, 2, 0, 3))
    channels, depth = weights.record.shape[3], x.shape[3]
    if not depth or channels % depth:
        raise b.refuse(f"weights for {channels} output channels do not match an input with {depth}")
    options = {
        "strides": windows.strides[1:3],
        "dilations": windows.dilations[1:3],
        "padding": windows.padding,
        "groups": depth,
        "filter_zero": zero,
    }
    return _convolve(b, x, weights, filter, bias, channels, windows.fused_activation_function, options)


@quantized("FULLY_CONNECTED")
def fully_connected(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    bias: LiteValue | None = None,
    *,
    fused_activation_function: str,
    keep_num_dims: bool,
    asymmetric_quantize_inputs: bool,
    quantized_bias_type: str,
) -> Value:
    """A convolution with a window of one element, over all but the last axis of x as rows."""
    if weights.load is None:
        raise b.refuse("weights that are computed are not supported")
    filter, zero = signed_weights(b, weights, (1, 0))
    channels, columns = weights.record.shape
    source, output = quantized_input(b, x), quantized_output(b, fused_activation_function)
    options = {
        "strides": [1, 1],
        "dilations": [1, 1],
        "padding": "VALID",
        "groups": 1,
        "filter_zero": zero,
    }
    image = b.Reshape(source.value, [1, -1, 1, columns]).output(0)
    kernel = b.Reshape(filter, [1, 1, columns, channels])
    y = _conv_node(b, source, image, kernel, weights, bias, channels, output, options)
    if not keep_num_dims:
        return as_stored(b, b.Reshape(y, [-1, channels]))
    sizes = b.ConcatV2([b.StridedSlice(b.Shape(x), [0], [-1], [1], begin_mask=1), [channels]], 0)
    return as_stored(b, b.Reshape(y, sizes))


@quantized("TRANSPOSE_CONV")
def transpose_conv(
    b: OperatorBuilder,
    size: LiteValue,
    weights: LiteValue,
    x: LiteValue,
    bias: LiteValue | None = None,
    *,
    padding: str,
    stride_w: int,
    stride_h: int,
    fused_activation_function: str = "NONE",
    quantized_bias_type: str = "FLOAT32",
) -> Value:
    """Weights are (output channels, height, width, input channels)."""
    filter, zero = signed_weights(b, weights, (1, 2, 0, 3))
    channels = weights.record.shape[0]
    source, output = quantized_input(b, x), quantized_output(b, fused_activation_function)
    multiplier, shift = product_multipliers(source, weights, output, channels)
    added: Any = _no_bias(b, source, channels) if bias is None else bias
    y = b.LiteTransposeConv(
        size, source.value, filter, added, strides=[stride_h, stride_w], padding=padding,
        multiplier=multiplier, shift=shift, x_zero=source.zero_point, filter_zero=zero, **output.limits,
    )  # fmt: skip
    return as_stored(b, y)


@quantized("BATCH_MATMUL")
def batch_matmul(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    adj_x: bool,
    adj_y: bool,
    asymmetric_quantize_inputs: bool = False,
) -> Value:
    if y.quantization.is_per_channel:
        raise b.refuse("interpreters answer zeros for weights with a scale for each channel")
    left, right, output = quantized_input(b, x), quantized_input(b, y), quantized_output(b)
    if (x.type, y.type) == ("INT16", "INT8"):
        right = QuantizedValue(b.cast(y, INT16), right.scale, y.zero_point)
    real = np.float64(left.scale * right.scale) / np.float64(output.scale)
    multiplier, shift = quantized_multiplier(float(real))
    product = b.LiteBatchMatMul(
        left.value, right.value, adj_x=adj_x, adj_y=adj_y, multiplier=multiplier, shift=shift,
        x_zero=left.zero_point, other_zero=right.zero_point, **output.limits,
    )  # fmt: skip
    return as_stored(b, product)


def _no_bias(b: OperatorBuilder, source: QuantizedValue, channels: int) -> Value:
    """Zeros, in the type of a bias: with int16, sums have 64 bits unless an option says otherwise."""
    is_wide = source.value.dtype == INT16 and b.operator.options.get("quantized_bias_type") != "INT32"
    dtype = INT64 if is_wide else INT32
    return b.const(np.zeros(channels, dtype.numpy), dtype)


def signed_weights(b: OperatorBuilder, weights: LiteValue, order: Sequence[int]) -> tuple[Value, int]:
    """Weights as int8 in another order of axes, and their zero point."""
    if weights.type not in ("INT8", "UINT8", "INT4", "INT2"):
        raise b.refuse(f"weights of type {weights.type.lower()} are not supported")
    if not weights.quantization.scale:
        raise b.refuse("its weights have no scale")
    if not weights.quantization.is_per_channel and weights.zero_point and weights.type != "UINT8":
        raise b.refuse("weights with a zero point are not supported")
    load, is_unsigned = weights.load, weights.type == "UINT8"
    if max(weights.record.shape, default=0) > MANY_CHANNELS:
        if load is None:
            raise b.refuse(f"computed weights of the shape {list(weights.record.shape)} are not supported")
        load()  # an error if the file has fewer
    if load is None:
        if is_unsigned:
            raise b.refuse("uint8 weights that are computed are not supported")
        return b.Transpose(weights, list(order)).output(0), 0

    def ordered() -> Any:
        array = load()
        if is_unsigned:
            array = (array.astype(np.int16) - 128).astype(np.int8)
        return np.ascontiguousarray(array.transpose(order))

    shape = [weights.record.shape[axis] for axis in order]
    return b.lazy_constant(ordered, INT8, shape), weights.zero_point - 128 if is_unsigned else 0


def product_multipliers(
    x: QuantizedValue, weights: LiteValue, output: QuantizedOutput, channels: int
) -> tuple[list[int], list[int]]:
    """The factors from sums to outputs, one for each output channel.

    For uint8, kernels multiply the scales of input and weights as float32.
    """
    scales = np.asarray(weights.quantization.scale, np.float32)
    if weights.type == "UINT8":
        real = np.float64(x.scale * scales[0]) / np.float64(output.scale)
        reals = [float(real)] * channels
    else:
        wide = np.float64(x.scale) * scales.astype(np.float64) / np.float64(output.scale)
        reals = [float(real) for real in np.broadcast_to(wide, channels)]
    return quantized_multipliers(reals)


def _convolve(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    filter: Value,
    bias: LiteValue | None,
    channels: int,
    activation: str,
    options: dict[str, Any],
) -> Value:
    source, output = quantized_input(b, x), quantized_output(b, activation)
    return as_stored(b, _conv_node(b, source, source.value, filter, weights, bias, channels, output, options))


def _conv_node(
    b: OperatorBuilder,
    source: QuantizedValue,
    image: Value,
    filter: Any,
    weights: LiteValue,
    bias: LiteValue | None,
    channels: int,
    output: QuantizedOutput,
    options: dict[str, Any],
) -> Value:
    if len(weights.quantization.scale) not in (1, channels):
        raise b.refuse(f"its weights have {len(weights.quantization.scale)} scales for {channels} channels")
    is_dense = b.operator.code.op == "FULLY_CONNECTED"
    multiplier, shift = product_multipliers(source, weights, output, channels)
    added: Any = _no_bias(b, source, channels) if bias is None else bias
    if bias is not None and len(bias.record.shape) > 1:
        added = b.Reshape(bias, [-1])
    if is_dense:
        options["scales"] = [float(source.scale), float(output.scale), *weights.quantization.scale]
    return b.LiteConv(
        image,
        filter,
        added,
        U=output.dtype,
        multiplier=multiplier,
        shift=shift,
        x_zero=source.zero_point,
        **output.limits,
        **options,
    ).output(0)
