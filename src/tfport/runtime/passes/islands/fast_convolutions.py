"""Convolutions whose kernels in ONNX Runtime are slow, in forms that it computes faster.

Its kernels compute 16 output channels at a time, or copy each window of all input channels before a product
of matrices; with one output channel nearly all of that is wasted. An exported model keeps all nodes.

Few output channels: a transposed convolution is the other way around: it multiplies each pixel first and then
adds up the windows of the few output channels. With the weights mirrored, both compute the same sums.
Measured with 1 to 4 output channels and windows of 3 pixels or more, in one thread: 2 to 9 times as fast. On
ARM64, where images are not kept in blocks of channels, 5 to 8 output channels are 1.1 to 3 times as fast too
(Neoverse N1); the products of all windows are in memory at once, so it is done for images of known, moderate
size.

Long windows over one channel, as in front ends for sound: the filters for 16 neighboring positions, each the
same filter moved by a step, are output channels of one convolution that takes 16 steps at a time. Measured
with one input channel, windows of 16 to 256 numbers and steps of 1 and 2: 2 to 12 times as fast on x86-64, 4
to 30 times on ARM64. The zeros around the filters meet numbers that the window does not contain, so the usual
convolution computes inputs that are not finite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.runtime_branch import runtime_branch
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.islands.image_blocks import HAS_BLOCKS
from tfport.runtime.passes.pass_list import ONNX_RUNTIME_CPU, island_pass
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_OUTPUTS = 4
MOST_OUTPUTS_WITHOUT_BLOCKS = 8
MOST_BYTES = 32 << 20
"""Of the products of more than `MOST_OUTPUTS` output channels."""
LEAST_WINDOW = 3
"""Windows of at least this many pixels are worth it."""
AT_ONCE = 16
"""Positions that are computed together."""
LEAST_PRODUCTS = 100_000
"""Of a convolution with a long window; below, it takes less than what is added to it."""

_AS_IT_IS = {"auto_pad": "NOTSET"}
"""The default: a convolution that says it is not replaced, also where a branch is written."""


@island_pass(when=ONNX_RUNTIME_CPU)
def few_output_channels(graph: IslandGraph) -> None:
    """Convolutions with few output channels are transposed convolutions."""
    for node in graph.nodes:
        pads = _transposed_pads(node) if node.op == "Conv" and _has_few_outputs(node) else None
        if pads is not None:
            graph.replace(node, _transposed(node, pads))


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


@island_pass(when=ONNX_RUNTIME_CPU)
def long_windows(graph: IslandGraph) -> None:
    """Convolutions of one channel with long windows compute 16 positions at once."""
    for node in graph.nodes:
        sequence = _sequence(node) if node.op == "Conv" and not node.domain else None
        if sequence is not None:
            graph.replace(node, *_replaced(node, sequence))


@dataclass(frozen=True, slots=True)
class _Sequence:
    """A convolution of a sequence of one channel whose length is known."""

    filters: NDArray[Any]
    """One row for each output channel."""
    rank: int
    """1, or 2 for a sequence that is an image of one row."""
    step: int
    before: int
    """Zeros before the sequence."""
    length: int
    positions: int
    """How many outputs the sequence has."""

    @property
    def blocks(self) -> int:
        return -(-self.positions // AT_ONCE)

    @property
    def after(self) -> int:
        """Zeros after the sequence, so that the last block is whole."""
        last = (self.blocks * AT_ONCE - 1) * self.step + len(self.filters[0])
        return max(last - self.before - self.length, 0)

    def moved_filters(self) -> NDArray[Any]:
        """A filter for each output channel and each of the positions of a block."""
        outputs, size = self.filters.shape
        moved = np.zeros((outputs, AT_ONCE, size + (AT_ONCE - 1) * self.step), np.float32)
        for i in range(AT_ONCE):
            moved[:, i, i * self.step : i * self.step + size] = self.filters
        return moved.reshape(outputs * AT_ONCE, -1)


def _sequence(node: OnnxNode) -> _Sequence | None:
    """What a node computes, if it is worth it: at most twice as many products, and not too few."""
    x, weights = node.inputs[:2]
    if x is None or weights is None or weights.array is None or weights.dtype != FLOAT32 or x.shape is None:
        return None
    outputs, inputs, *kernel = weights.array.shape
    *others, size = kernel
    *rows, length = x.shape[2:]
    rank = len(kernel)
    if inputs != 1 or outputs > MOST_OUTPUTS or any(n != 1 for n in (*others, *rows)) or length is None:
        return None
    pads = node.attrs.get("pads", [0] * 2 * rank)
    step = node.attrs.get("strides", [1] * rank)[-1]
    if any(pads[:rank][:-1] + pads[rank:][:-1]) or set(node.attrs.get("dilations", ())) - {1}:
        return None
    if "auto_pad" in node.attrs or (AT_ONCE - 1) * step > size:
        return None
    positions = (length + pads[rank - 1] + pads[-1] - size) // step + 1
    if positions * size * outputs < LEAST_PRODUCTS:
        return None
    return _Sequence(weights.array.reshape(outputs, size), rank, step, pads[rank - 1], length, positions)


def _replaced(node: OnnxNode, sequence: _Sequence) -> list[OnnxNode]:
    x = node.inputs[0]
    assert x is not None
    b = Builder(node.outputs[0].name)
    zeros = b.nodes("ReduceSum", b.Mul(x, b.const(0, FLOAT32)), keepdims=0, shape=())[0]
    is_finite = b.Equal(zeros, b.const(0, FLOAT32))  # of NaN and infinities, the product with 0 is NaN
    result = runtime_branch(
        b,
        is_finite,
        lambda branch: _in_blocks(branch, node, sequence),
        lambda branch: branch.Conv(*node.inputs, **node.attrs, **_AS_IT_IS),
    )
    *before, choice = b.added
    assert choice.outputs == (result,)
    return [*before, OnnxNode(choice.op, choice.inputs, node.outputs, choice.attrs)]


def _in_blocks(b: Builder, node: OnnxNode, sequence: _Sequence) -> Operand:
    outputs, filters = len(sequence.filters), sequence.moved_filters()
    row = (1,) * (sequence.rank - 1)
    weights = b.const(filters.reshape(len(filters), 1, *row, -1), FLOAT32)
    zeros = (0,) * (sequence.rank - 1)
    pads = [*zeros, sequence.before, *zeros, sequence.after]
    blocks = b.Conv(node.inputs[0], weights, strides=[*row, sequence.step * AT_ONCE], pads=pads)
    apart = b.Reshape(blocks, b.const([0, outputs, AT_ONCE, sequence.blocks], INT64))
    in_order = b.Transpose(apart, perm=[0, 1, 3, 2])
    joined = b.Reshape(in_order, b.const([0, outputs, *row, sequence.blocks * AT_ONCE], INT64))
    ends = b.const([sequence.positions], INT64)
    kept = b.Slice(joined, b.const([0], INT64), ends, b.const([-1], INT64))
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return kept if bias is None else b.Add(kept, b.Reshape(bias, b.const([1, outputs, *row, 1], INT64)))
