"""Replace convolutions with few output channels by transposed ones, which are faster in ONNX Runtime.

Its kernels of convolutions compute 16 output channels at a time, or copy each window of all input channels
before a product of matrices; with one output channel nearly all of that is wasted. A transposed convolution
is the other way around: it multiplies each pixel first and then adds up the windows of the few output
channels. With the weights mirrored, both compute the same sums. Measured with 1 to 4 output channels and
windows of 3 pixels or more, in one thread: 2 to 9 times as fast. On ARM64, where images are not kept in
blocks of channels, 5 to 8 output channels are 1.1 to 3 times as fast too (Neoverse N1); the products of all
windows are in memory at once, so it is done for images of known, moderate size. An exported model keeps all
nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.fast_forms.prelu import HAS_BLOCKS
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_OUTPUTS = 4
MOST_OUTPUTS_WITHOUT_BLOCKS = 8
MOST_BYTES = 32 << 20
"""Of the products of more than `MOST_OUTPUTS` output channels."""
LEAST_WINDOW = 3
"""Windows of at least this many pixels are worth it."""


def with_fast_convolutions(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    """The nodes, the convolutions with few output channels replaced."""
    for node in nodes:
        pads = _transposed_pads(node) if node.op == "Conv" and _has_few_outputs(node) else None
        yield node if pads is None else _transposed(node, pads)


def _has_few_outputs(node: OnnxNode) -> bool:
    weights = node.inputs[1]
    if weights is None or weights.array is None or weights.dtype != FLOAT32 or node.domain:
        return False
    outputs, inputs, *kernel = weights.array.shape
    return (
        _are_few(outputs, node)
        and 2 * outputs <= inputs
        and math.prod(kernel) >= LEAST_WINDOW
        and node.attrs.get("group", 1) == 1
        and all(stride == 1 for stride in node.attrs.get("strides", ()))
    )


def _are_few(outputs: int, node: OnnxNode) -> bool:
    if outputs <= MOST_OUTPUTS:
        return True
    image = (node.outputs[0].shape or (None,))[2:]
    if HAS_BLOCKS or outputs > MOST_OUTPUTS_WITHOUT_BLOCKS or None in image or not image:
        return False
    pixels = math.prod(size for size in image if size is not None)
    return pixels * outputs * math.prod(_kernel(node)) * FLOAT32.numpy.itemsize <= MOST_BYTES


def _transposed_pads(node: OnnxNode) -> list[int] | None:
    """The padding of the transposed convolution; None unless the image keeps its size."""
    extents = [(size - 1) * step for size, step in zip(_kernel(node), _dilations(node), strict=True)]
    if node.attrs.get("auto_pad") == "SAME_UPPER":
        pads = [extent // 2 for extent in extents] + [extent - extent // 2 for extent in extents]
    elif "pads" in node.attrs and "auto_pad" not in node.attrs:
        pads = list(node.attrs["pads"])
    else:
        return None
    before, after = pads[: len(extents)], pads[len(extents) :]
    if any(b + a != extent for b, a, extent in zip(before, after, extents, strict=True)):
        return None
    return after + before  # extent - before, and extent - after


def _kernel(node: OnnxNode) -> tuple[int, ...]:
    return _weights(node).shape[2:]


def _dilations(node: OnnxNode) -> list[int]:
    return node.attrs.get("dilations") or [1] * len(_kernel(node))


def _weights(node: OnnxNode) -> NDArray[Any]:
    weights = node.inputs[1]
    assert weights is not None
    assert weights.array is not None
    return weights.array


def _transposed(node: OnnxNode, pads: list[int]) -> OnnxNode:
    weights = _weights(node)
    mirrored = np.flip(weights, tuple(range(2, weights.ndim))).swapaxes(0, 1)
    constant = Operand(FLOAT32, value=np.ascontiguousarray(mirrored), name="mirrored")
    attrs = {"kernel_shape": list(_kernel(node)), "dilations": _dilations(node), "pads": pads}
    return OnnxNode("ConvTranspose", (node.inputs[0], constant, *node.inputs[2:]), node.outputs, attrs)
