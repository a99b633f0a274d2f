"""Real inputs with weights of eight bits that have a scale for each channel."""

from __future__ import annotations

import numpy as np

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import LOSSY, ROUNDING, Refusal
from tfport.formats.lite.records import NO_TENSOR, LiteOperator, TensorQuantization
from tfport.startup.dataclass import replace

FLOAT = "FLOAT32"


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
