"""Local response normalization, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import lower
from tfport.runtime.ops.nn.onnx_layouts import channels_second, from_channels_second
from tfport.runtime.ops.nn.windows import DataLayout


@lower("LRN")
def local_response_normalization(b, input, *, depth_radius, bias, alpha, beta):
    layout = DataLayout("NHWC")
    size = 2 * depth_radius + 1
    inner = channels_second(b, input, layout)
    # ONNX divides alpha by the number of summed channels
    output = b.LRN(inner, alpha=float(alpha) * size, beta=float(beta), bias=float(bias), size=size)
    return from_channels_second(b, output, layout)
