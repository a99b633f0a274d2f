"""Convolutions with what is added to them and the Relu after it, as one operation of cuDNN.

    relu(conv(x) + bias + shortcut)        bias, shortcut and Relu are optional

ONNX Runtime computes these one after another, through the memory. cuDNN has one kernel for them, for images
with their channels last: the operands are [batch, height, width, channels]. Products
with matrices are left to cuBLASLt (`fused_product`).

Where ONNX Runtime computes them with cuDNN, sums after some convolutions are nodes of their own. cuDNN
computes a sum together with a convolution, which saves a pass over the result. But where the convolution is
in groups, or has few input channels in 16 bits, it has only kernels for that which are several times slower
than those without a sum (H200, cuDNN 9.19: the first convolution of ResNet-50 in float16 834 µs in place of
118; 17 convolutions in groups of MobileNetV2 7.8 ms in place of 0.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import GPU, IslandUse, island_pass
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = (FLOAT32, DType.parse("float16"), DType.parse("bfloat16"))
CHANNELS = 4
"""Channels are a multiple of this number, or cuDNN uses no tensor cores."""
FEW_CHANNELS = 4
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
    return search.convolutions[::-1]


class _Search:
    """Collects what is computed at once, the last first."""

    def __init__(self, nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> None:
        self.convolutions: list[FusedConvolution] = []
        self._graph = OnnxGraph(nodes, outputs)
        self._index = {output: index for index, node in enumerate(nodes) for output in node.outputs}
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
        self.convolutions.append(
            FusedConvolution(tuple(chain), x, contiguous, added, shortcut, output, *numbers)
        )

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
        reader = self._graph.only_reader(node)
        return reader if reader not in self._taken else None

    def _shortcut(self, add: OnnxNode, image: Operand) -> Operand | None:
        """What a node adds to an image, if that has the same sizes and is computed before it."""
        others = [o for o in add.inputs if o is not None and o is not image and not o.is_constant]
        if len(others) != 1 or others[0].shape is None or others[0].shape != image.shape:
            return None
        return others[0] if self._index.get(others[0], -1) < self._index[image] else None


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


@island_pass(when=GPU, bodies=False)
def separate_sums(graph: IslandGraph) -> None:
    """The bias of convolutions that cuDNN computes slowly with it is a sum of its own."""
    half = graph.target.form.half is not None and graph.target.use is not IslandUse.CONVOLUTIONS_APART
    for node in graph.nodes:
        if node.op == "Conv" and _is_slow(node, half):
            graph.replace(node, *_separated(node))


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
    return [
        *b.added,
        OnnxNode("Transpose", (total,), (output,), {"perm": [0, rank - 1, *range(1, rank - 1)]}),
    ]
