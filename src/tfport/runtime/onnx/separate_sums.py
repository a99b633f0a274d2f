"""Sums after some convolutions as nodes of their own, for cuDNN.

It computes a sum together with a convolution, which saves a pass over the result. But where the convolution
is in groups, or has few input channels in 16 bits, it has only kernels for that which are several times
slower than those without a sum (H200, cuDNN 9.19: the first convolution of ResNet-50 in float16 834 µs in
place of 118; 17 convolutions in groups of MobileNetV2 7.8 ms in place of 0.5).
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

FEW_CHANNELS = 4


def with_separate_sums(nodes: Sequence[OnnxNode], *, half: bool) -> list[OnnxNode]:
    """The nodes with the bias of such convolutions as a node `Add`; `half`: they compute in 16 bits."""
    made: list[OnnxNode] = []
    for node in nodes:
        made += _separated(node) if node.op == "Conv" and _is_slow(node, half) else [node]
    return made


def _is_slow(conv: OnnxNode, half: bool) -> bool:
    weights = conv.inputs[1]
    bias = conv.inputs[2] if len(conv.inputs) > 2 else None
    if weights is None or weights.shape is None or bias is None or bias.array is None:
        return False
    few = weights.shape[1] is not None and weights.shape[1] <= FEW_CHANNELS
    return bool(conv.attrs.get("group", 1) != 1 or (half and few))


def _separated(conv: OnnxNode) -> list[OnnxNode]:
    x, weights, bias = conv.inputs
    assert weights is not None
    assert bias is not None
    assert bias.array is not None
    (output,) = conv.outputs
    space = (weights.rank or 2) - 2
    column = bias.array.reshape(-1, *[1] * space)
    offset = Operand(bias.dtype, value=column, name=bias.name)
    result = Operand(output.dtype, output.shape, name=output.name)
    return [
        OnnxNode("Conv", (x, weights), (result,), conv.attrs),
        OnnxNode("Add", (result, offset), (output,), {}),
    ]
