"""Convolutions with groups, and transposed ones with a bias."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT, ROUNDING
from tfport.formats.lite.records import NO_TENSOR, LiteOperator
from tfport.graph.building.node_builder import Refusal
from tfport.startup.dataclass import replace

CHANNELS = 3
"""The axis of the channels of an image."""
SAME = 1
"""The number of the padding in the options of Convolution2DTransposeBias."""


@lite_rule("CONV_2D", keeps=EXACT)
def each_group_alone(e: SubgraphEditor, n: LiteOperator) -> None:
    """SPLIT, a CONV_2D for each group of channels, and CONCATENATION compute a convolution with groups."""
    x, weights, *rest = n.inputs
    image, kernel = e.static_shape(x), e.static_shape(weights)
    groups = image[CHANNELS] // kernel[CHANNELS]
    if groups < 2:
        raise Refusal("it has no groups")
    if e.tensor(x).type == "FLOAT32" and e.tensor(weights).type != "FLOAT32":
        raise Refusal("its weights are quantized and its input is not")
    part = (*image[:CHANNELS], kernel[CHANNELS])
    parts = [e.new(x, part) for _ in range(groups)]
    e.node("SPLIT", (e.constant(CHANNELS, "int32"), x), parts, num_splits=groups)
    kernels = _slices(e, weights, groups)
    biases = [_slices(e, index, groups) for index in rest if index != NO_TENSOR]
    shape = e.tensor(n.outputs[0]).shape
    each = (*shape[:CHANNELS], shape[CHANNELS] // groups)
    outputs = [
        e.op("CONV_2D", (parts[at], kernels[at], *(bias[at] for bias in biases)), like=n.outputs[0],
             shape=each, **n.options)
        for at in range(groups)
    ]  # fmt: skip
    e.op("CONCATENATION", outputs, to=n.outputs[0], axis=CHANNELS)


def _slices(e: SubgraphEditor, index: int, groups: int) -> Sequence[int]:
    """A constant divided along its first axis, with the scales of each part."""
    array = e.array(index)
    quantization = e.tensor(index).quantization
    constants = []
    for at, values in enumerate(np.split(array, groups)):
        scales = quantization
        if quantization is not None and quantization.is_per_channel:
            channels = slice(at * len(values), (at + 1) * len(values))
            points = quantization.zero_point[channels]
            scales = replace(
                quantization, scale=quantization.scale[channels], zero_point=points, minimum=(), maximum=()
            )
        constants.append(e.constant(values, array.dtype.name, scales))
    return constants


@lite_rule("Convolution2DTransposeBias", keeps=ROUNDING)
def transposed_convolution_and_bias(e: SubgraphEditor, n: LiteOperator) -> None:
    """TRANSPOSE_CONV and ADD compute MediaPipe's transposed convolution with a bias."""
    x, weights, bias = n.inputs
    e.require(x, "FLOAT32")
    options = bytes(n.custom_options)
    if len(options) != struct.calcsize("<iii"):
        raise Refusal("its options are not known")
    padding, width, height = struct.unpack("<iii", options)
    image = e.static_shape(x)
    if padding == SAME and (image[1] % height or image[2] % width):
        raise Refusal("the size of its input is not a multiple of its strides")
    shape = e.constant(e.static_shape(n.outputs[0]), "int32")
    product = e.op(
        "TRANSPOSE_CONV", (shape, weights, x), like=n.outputs[0],
        padding="SAME" if padding == SAME else "VALID", stride_w=width, stride_h=height,
    )  # fmt: skip
    e.op("ADD", (product, bias), to=n.outputs[0])
