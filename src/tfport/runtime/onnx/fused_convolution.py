"""Convolutions with what is added to them and the Relu after it, as one operation of cuDNN.

    relu(conv(x) + bias + shortcut)        bias, shortcut and Relu are optional

ONNX Runtime computes these one after another, through the memory. cuDNN has one kernel for them, for images
with their channels last: the operands are [batch, height, width, channels]. Products
with matrices are left to cuBLASLt (`fused_product`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = (FLOAT32, DType.parse("float16"), DType.parse("bfloat16"))
CHANNELS = 4
"""Channels are a multiple of this number, or cuDNN uses no tensor cores."""
Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FusedConvolution:
    """What cuDNN computes at once."""

    nodes: tuple[OnnxNode, ...]
    """The ONNX nodes that it takes the place of."""
    x: Operand
    weights: NDArray[Any]
    """[outputs, height, width, inputs]"""
    bias: NDArray[Any]
    shortcut: Operand | None
    output: Operand
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (self.x,) if self.shortcut is None else (self.x, self.shortcut)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (self.output,)

    @property
    def constants(self) -> tuple[NDArray[Any], ...]:
        return self.weights, self.bias

    @property
    def relu(self) -> bool:
        return self.nodes[-1].op == "Relu"

    def output_shape(self, x: Sizes, shortcut: Sizes | None = None) -> Sizes:
        """The sizes of the output for those of the inputs."""
        outputs, *window, _ = self.weights.shape
        batch, *sizes, _ = x
        numbers = zip(sizes, window, self.strides, self.pads, self.dilations, strict=True)
        height, width = (
            (size + 2 * pad - dilation * (length - 1) - 1) // stride + 1
            for size, length, stride, pad, dilation in numbers
        )
        shape = batch, height, width, outputs
        if min(shape) < 1 or x[-1] != self.weights.shape[-1]:
            raise Error(f"a convolution of {x} has no output")
        if shortcut is not None and shortcut != shape:
            raise Error(f"{shortcut} is added to {shape}")
        return shape


def fused_convolutions(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[FusedConvolution]:
    """What cuDNN can compute of an island, in order."""
    search = _Search(nodes, outputs)
    for node in reversed(nodes):  # the last convolution of a sum is the one that adds it
        if is_usual_convolution(node):
            search.add(node)
    return search.made[::-1]


class _Search:
    """Collects what is computed at once, the last first."""

    def __init__(self, nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> None:
        self.made: list[FusedConvolution] = []
        self._producers = Producers(nodes, outputs)
        self._place = {output: place for place, node in enumerate(nodes) for output in node.outputs}
        self._taken: set[OnnxNode] = set()

    def add(self, conv: OnnxNode) -> None:
        x, weights, bias = (*conv.inputs, None)[:3]
        assert x is not None
        assert weights is not None
        assert weights.array is not None
        array = weights.array
        missing = -array.shape[1] % CHANNELS
        padded = np.pad(array.transpose(0, 2, 3, 1), [(0, 0)] * 3 + [(0, missing)])
        added = np.zeros(len(array), array.dtype) if bias is None or bias.array is None else bias.array
        chain, shortcut = self._chain(conv)
        self._taken.update(chain)
        (output,) = chain[-1].outputs
        strides, dilations = (tuple(conv.attrs.get(name, [1, 1])) for name in ("strides", "dilations"))
        numbers = strides, tuple(conv.attrs.get("pads", [0] * 4)[:2]), dilations
        contiguous = np.ascontiguousarray(padded)
        self.made.append(FusedConvolution(tuple(chain), x, contiguous, added, shortcut, output, *numbers))

    def _chain(self, conv: OnnxNode) -> tuple[list[OnnxNode], Operand | None]:
        """The convolution with the sum and the Relu after it, and what is added."""
        chain, shortcut = [conv], None
        after = self._only_reader(conv)
        if after is not None and after.op == "Add":
            shortcut = self._shortcut(after, conv.outputs[0])
            if shortcut is None:
                return chain, None
            chain.append(after)
            after = self._only_reader(after)
        if after is not None and after.op == "Relu":
            chain.append(after)
        return chain, shortcut

    def _only_reader(self, node: OnnxNode) -> OnnxNode | None:
        reader = self._producers.only_reader(node)
        return reader if reader not in self._taken else None

    def _shortcut(self, add: OnnxNode, image: Operand) -> Operand | None:
        """What a node adds to an image, if that has the same sizes and is computed before it."""
        others = [o for o in add.inputs if o is not None and o is not image and not o.is_constant]
        if len(others) != 1 or others[0].shape is None or others[0].shape != image.shape:
            return None
        return others[0] if self._place.get(others[0], -1) < self._place[image] else None


def is_usual_convolution(conv: OnnxNode) -> bool:
    """Whether a node is a convolution that cuDNN computes with tensor cores."""
    if conv.op != "Conv":
        return False
    x, weights, bias = (*conv.inputs, None)[:3]
    if x is None or weights is None or weights.array is None or x.shape is None:
        return False
    pads = list(conv.attrs.get("pads", [0] * 4))
    return (
        weights.rank == 4
        and x.dtype in TYPES
        and x.shape[1] == weights.array.shape[1]
        and weights.array.shape[0] % CHANNELS == 0
        and conv.attrs.get("group", 1) == 1
        and conv.attrs.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
        and pads[:2] == pads[2:]
        and (bias is None or bias.array is not None)
    )
