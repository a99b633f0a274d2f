"""Compute several positions of a sequence at once where a convolution has a long window and few channels.

ONNX Runtime's kernels compute 16 output channels at a time, or copy each window before a product of matrices;
a filter of one channel, as in front ends for sound, wastes nearly all of that. Here the filters for 16
neighboring positions, each the same filter moved by a step, are output channels of one convolution that takes
16 steps at a time. Measured with one input channel, windows of 16 to 256 numbers and steps of 1 and 2: 2 to
12 times as fast on x86-64, 4 to 30 times on ARM64. The zeros around the filters meet numbers that the window
does not contain, so the usual convolution computes inputs that are not finite. An exported model keeps all
nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.either import either
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_ONCE = 16
"""Positions that are computed together."""
MOST_OUTPUTS = 4
LEAST_PRODUCTS = 100_000
"""Of the convolution; below, it takes less than what is added to it."""

_AS_IT_IS = {"auto_pad": "NOTSET"}
"""The default: a convolution that says it is not replaced, also where a branch is written."""


def with_long_windows(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    """The nodes, the convolutions of sequences with long windows and few channels replaced."""
    for node in nodes:
        sequence = _sequence(node) if node.op == "Conv" and not node.domain else None
        if sequence is None:
            yield node
        else:
            yield from _replaced(node, sequence)


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
    result = either(
        b,
        is_finite,
        lambda branch: _in_blocks(branch, node, sequence),
        lambda branch: branch.Conv(*node.inputs, **node.attrs, **_AS_IT_IS),
    )
    *made, choice = b.made
    assert choice.outputs == (result,)
    return [*made, OnnxNode(choice.op, choice.inputs, node.outputs, choice.attrs)]


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
