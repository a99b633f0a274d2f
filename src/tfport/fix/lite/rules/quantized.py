"""Quantized operators as real ones between DEQUANTIZE and QUANTIZE, and real inputs with int8 weights."""

from __future__ import annotations

import numpy as np

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT, LOSSY, ROUNDING
from tfport.formats.lite.records import NO_TENSOR, LiteOperator, TensorQuantization
from tfport.graph.building.node_builder import Refusal
from tfport.startup.dataclass import replace

INTEGERS = ("INT8", "UINT8", "INT16")
MOVES = (
    "TILE DEPTH_TO_SPACE SPACE_TO_DEPTH TRANSPOSE PAD MIRROR_PAD GATHER GATHER_ND SLICE STRIDED_SLICE "
    "REVERSE_V2 PACK UNPACK SPLIT SPLIT_V BROADCAST_TO SELECT SELECT_V2 EXPAND_DIMS SQUEEZE RESHAPE "
    "BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND RESIZE_NEAREST_NEIGHBOR DYNAMIC_UPDATE_SLICE MAX_POOL_2D RELU "
    "REDUCE_MAX REDUCE_MIN MAXIMUM MINIMUM"
)
"""Ops whose results are some of the inputs, with the same scale."""
COMPUTES = (
    "ABS EXP LOG SQRT RSQRT GELU SQUARED_DIFFERENCE ADD SUB MUL DIV SUM MEAN REDUCE_PROD LEAKY_RELU PRELU "
    "ELU HARD_SWISH LOGISTIC TANH SOFTMAX LOG_SOFTMAX NEG FLOOR_MOD FLOOR_DIV RESIZE_BILINEAR "
    "L2_NORMALIZATION AVERAGE_POOL_2D BATCH_MATMUL RELU_0_TO_1 RELU6 RELU_N1_TO_1 CUMSUM"
)
FLOAT = "FLOAT32"


@lite_rule(MOVES, keeps=EXACT)
def moved_as_real_numbers(e: SubgraphEditor, n: LiteOperator) -> None:
    """DEQUANTIZE and QUANTIZE with the same scale change no value, so quantized numbers move as real ones."""
    scales = {
        (quantization.scale, quantization.zero_point)
        for index in (*n.inputs, *n.outputs)
        if index != NO_TENSOR and (quantization := e.tensor(index).quantization) is not None
    }
    if len(scales) != 1:
        raise Refusal("its inputs and outputs have different scales")
    _through_float(e, n)


@lite_rule(COMPUTES, keeps=ROUNDING)
def computed_as_real_numbers(e: SubgraphEditor, n: LiteOperator) -> None:
    """The op on real numbers, between DEQUANTIZE and QUANTIZE, gives results within one step."""
    _through_float(e, n)


def _through_float(e: SubgraphEditor, n: LiteOperator) -> None:
    if not any(_is_quantized(e, index) for index in n.outputs):
        raise Refusal("it is not quantized")
    inputs = [
        e.op("DEQUANTIZE", (index,), like=index, dtype=FLOAT) if _is_quantized(e, index) else index
        for index in n.inputs
    ]
    outputs = [e.new(index, dtype=FLOAT) if _is_quantized(e, index) else index for index in n.outputs]
    e.node(n.code.op, inputs, outputs, **n.options)
    for real, index in zip(outputs, n.outputs, strict=True):
        if real != index:
            e.op("QUANTIZE", (real,), to=index)


def _is_quantized(e: SubgraphEditor, index: int) -> bool:
    if index == NO_TENSOR:
        return False
    tensor = e.tensor(index)
    quantization = tensor.quantization
    if quantization is None or not quantization.scale or tensor.type not in INTEGERS:
        return False
    if quantization.is_per_channel:
        raise Refusal(f"`{tensor.name}` has a scale for each channel")
    return True


# Real inputs with int8 weights that have a scale for each channel.


@lite_rule("FULLY_CONNECTED", keeps=ROUNDING)
def scales_after_the_product(e: SubgraphEditor, n: LiteOperator) -> None:
    """The product uses weights with the scale 1; MUL applies the scale of each channel, ADD the bias."""
    x, weights, *rest = n.inputs
    quantization = _weights(e, n)
    if not quantization.is_per_channel:
        raise Refusal("its weights have one scale")
    values = e.array(weights)
    plain = replace(quantization, scale=(1.0,), zero_point=(0,), minimum=(), maximum=())
    whole = e.constant(values, "int8", plain)
    options = {**n.options, "fused_activation_function": "NONE"}
    zeros = e.constant(np.zeros(len(values)))
    product = e.op("FULLY_CONNECTED", (x, whole, zeros), like=n.outputs[0], **options)
    activation = e.option(n, "fused_activation_function")
    has_bias = bool(rest) and rest[0] != NO_TENSOR
    last = {} if has_bias else {"to": n.outputs[0], "fused_activation_function": activation}
    scales = e.constant(quantization.scale)
    scaled = e.op("MUL", (product, scales), like=n.outputs[0], **last)
    if has_bias:
        e.op("ADD", (scaled, rest[0]), to=n.outputs[0], fused_activation_function=activation)


@lite_rule("FULLY_CONNECTED CONV_2D DEPTHWISE_CONV_2D", keeps=LOSSY)
def real_weights(e: SubgraphEditor, n: LiteOperator) -> None:
    """The weights become real numbers, so the inputs are no longer rounded to eight bits as before."""
    quantization = _weights(e, n)
    values = e.array(n.inputs[1]).astype(np.float32)
    axis = quantization.axis if quantization.is_per_channel else 0
    shape = [-1 if at == axis else 1 for at in range(values.ndim)]
    scale = np.reshape(np.asarray(quantization.scale, np.float32), shape)
    zero = np.reshape(np.asarray(quantization.zero_point or [0] * len(quantization.scale)), shape)
    weights = e.constant((values - zero) * scale)
    options = {k: v for k, v in n.options.items() if k != "asymmetric_quantize_inputs"}
    e.op(n.code.op, (n.inputs[0], weights, *n.inputs[2:]), to=n.outputs[0], **options)


def _weights(e: SubgraphEditor, n: LiteOperator) -> TensorQuantization:
    """How the weights are quantized; Refusal if the input is not real or the weights are not int8."""
    e.require(n.inputs[0], FLOAT)
    e.require(n.inputs[1], "INT8")
    quantization = e.tensor(n.inputs[1]).quantization
    if quantization is None:
        raise Refusal("its weights have no scale")
    return quantization
