"""Sums after some convolutions as nodes of their own, for cuDNN.

It computes a sum together with a convolution, which saves a pass over the result. But where the convolution
is in groups, or has few input channels in 16 bits, it has only kernels for that which are several times
slower than those without a sum (H200, cuDNN 9.19: the first convolution of ResNet-50 in float16 834 µs in
place of 118; 17 convolutions in groups of MobileNetV2 7.8 ms in place of 0.5).
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.onnx.builder import Builder
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
    """The sum has the channels last, as GPUs compute: what is added is a vector then, in any layout the same.

    ONNX Runtime removes the transposes; with the channels first it would have to change the constant, and it
    confuses those that several nodes read.
    """
    x, weights, bias = conv.inputs
    assert weights is not None
    assert bias is not None
    (output,) = conv.outputs
    rank = weights.rank or 0
    b = Builder(output.name)
    (result,) = b.nodes("Conv", x, weights, shape=output.shape, **conv.attrs)
    last = b.Transpose(result, perm=[0, *range(2, rank), 1])
    total = b.Add(last, bias)
    return [*b.made, OnnxNode("Transpose", (total,), (output,), {"perm": [0, rank - 1, *range(1, rank - 1)]})]
