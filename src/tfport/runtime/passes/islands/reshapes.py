"""Fewer nodes that only change a shape: chains of reshapes, and axes that 1-D convolutions add and remove.

A layer of a quantized TensorFlow Lite model multiplies rows as images of one pixel, so between two layers the
same numbers are reshaped up to four times. A Transpose that only moves axes of size 1 is a Reshape too.

A 1-D convolution is a 2-D one between Unsqueeze and Squeeze. What follows it (bias, normalization,
activation, the sum of a residual block) works as well on the image, where the engine fuses it with the
convolution; the axis that comes next is then there already. A Squeeze is not added at once; its output is
recorded as its input and the axes to remove. Elementwise nodes are rewritten for that input; Unsqueeze of the
same axes removes both. Any other node gets a Squeeze just before it. Only axes that are known to have one
element count: Squeeze fails at others.
"""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.graph import captured_by, like
from tfport.runtime.onnx.op_facts import TOGETHER, UNARY
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

_ELEMENTWISE = frozenset((*UNARY.split(), *TOGETHER.split()))
_AXES = frozenset(["Flatten", "Squeeze", "Unsqueeze"])


@island_pass()
def reshape_chains(graph: IslandGraph) -> None:
    """Several reshapes in a row are one, and none where the first shape comes back."""
    sources: dict[Operand, Operand] = {}
    """What was reshaped, for each operand that only has another shape."""
    same: dict[Operand, Operand] = {}
    """What to read instead of an operand with the same shape."""
    for node in graph.nodes:
        inputs = tuple(o if o is None else same.get(o, o) for o in node.inputs)
        current = like(node, inputs, node.outputs) if inputs != node.inputs else node
        if _only_reshapes(current) and (x := current.inputs[0]) is not None:
            (output,) = current.outputs
            source = sources.get(x, x)
            if source.shape == output.shape:
                same[output] = source
            elif source is not x:
                current = OnnxNode("Reshape", (source, _sizes(output.shape or ())), (output,), {})
            sources[output] = source
        if current is not node:
            graph.replace(node, current)


def _only_reshapes(node: OnnxNode) -> bool:
    """Whether a node gives the elements of its first input in another shape, of at most one unknown size."""
    if node.domain or not node.inputs or node.inputs[0] is None or not _is_known(node.outputs[0].shape):
        return False
    before, after = node.inputs[0].shape, node.outputs[0].shape
    if not _is_known(before) or before is None or after is None:
        return False
    if node.op == "Transpose":
        order = node.attrs.get("perm", list(range(len(before)))[::-1])
        moved = [axis for axis in order if before[axis] != 1]
        return moved == sorted(moved)
    sizes = node.inputs[1] if node.op == "Reshape" else None
    is_stated = sizes is not None and sizes.array is not None and 0 not in sizes.array
    return node.op in _AXES or is_stated


def _is_known(shape: Dims | None) -> bool:
    """Whether the sizes follow from the number of elements."""
    return shape is not None and shape.count(None) <= 1 and 0 not in shape


def _sizes(shape: Dims) -> Operand:
    return Operand(INT64, value=np.array([-1 if size is None else size for size in shape], np.int64))


@dataclass(frozen=True, slots=True)
class Squeezed:
    """An operand is `inner` without these axes, each of size 1."""

    inner: Operand
    axes: tuple[int, ...]


@island_pass()
def fewer_squeezes(graph: IslandGraph) -> None:
    """The axis that a 1-D convolution adds stays until the next one."""
    if not {"Squeeze", "Unsqueeze"} <= graph.ops:
        return
    rewriter = _Rewriter()
    for node in graph.nodes:
        rewriter.take(node)
    for operand in graph.outputs:
        rewriter.plain(operand)
    graph.nodes = rewriter.nodes


class _Rewriter:
    """The nodes added so far, and the operands that have removed axes."""

    def __init__(self) -> None:
        self.nodes: list[OnnxNode] = []
        self.squeezed: dict[Operand, Squeezed] = {}
        self.restored: set[Operand] = set()
        """The squeezed operands that were also computed without their axes."""
        self.same: dict[Operand, Operand] = {}
        """The operand to read instead of one that was removed."""

    def plain(self, operand: Operand) -> None:
        """Compute an operand itself, if it was not."""
        if operand in self.same:
            self.nodes.append(OnnxNode("Identity", (self.same.pop(operand),), (operand,), {}))
        elif operand in self.squeezed and operand not in self.restored:
            self.restored.add(operand)
            squeezed = self.squeezed[operand]
            self.nodes.append(OnnxNode("Squeeze", (squeezed.inner, _ints(squeezed.axes)), (operand,), {}))

    def take(self, node: OnnxNode) -> None:
        inputs = tuple(o if o is None else self.same.get(o, o) for o in node.inputs)
        if not node.domain and self._rewritten(node, inputs):
            return
        for operand in (*inputs, *captured_by(node)):
            if operand is not None:
                self.plain(operand)
        self.nodes.append(like(node, inputs, node.outputs) if inputs != node.inputs else node)

    def _rewritten(self, node: OnnxNode, inputs: tuple[Operand | None, ...]) -> bool:
        if node.op == "Squeeze":
            return self._squeeze(node, inputs)
        source = self.squeezed.get(inputs[0]) if inputs and inputs[0] is not None else None
        if node.op == "Unsqueeze" and source is not None:
            return self._unsqueeze(node, inputs, source)
        if node.op in _ELEMENTWISE:
            return self._elementwise(node, inputs)
        return False

    def _squeeze(self, node: OnnxNode, inputs: tuple[Operand | None, ...]) -> bool:
        x, axes = inputs[0], inputs[1] if len(inputs) > 1 else None
        if x is None or x.shape is None or x in self.squeezed or axes is None or axes.array is None:
            return False
        removed = tuple(sorted(int(axis) % len(x.shape) for axis in axes.array.reshape(-1)))
        if any(x.shape[axis] != 1 for axis in removed):
            return False
        self.squeezed[node.outputs[0]] = Squeezed(x, removed)
        return True

    def _unsqueeze(self, node: OnnxNode, inputs: tuple[Operand | None, ...], source: Squeezed) -> bool:
        axes, rank = inputs[1], source.inner.rank
        if axes is None or axes.array is None or rank is None or axes.array.size != len(source.axes):
            return False
        if tuple(sorted(int(axis) % rank for axis in axes.array.reshape(-1))) != source.axes:
            return False
        self.same[node.outputs[0]] = source.inner
        return True

    def _elementwise(self, node: OnnxNode, inputs: tuple[Operand | None, ...]) -> bool:
        """All inputs with the same axes; constants get them. The rest of an input's axes is unchanged."""
        present = [o for o in inputs if o is not None]
        sources = [self.squeezed[o] for o in present if o in self.squeezed]
        ranks = {source.inner.rank for source in sources}
        if len(ranks) != 1 or None in ranks or len({source.axes for source in sources}) != 1:
            return False
        axes, rank = sources[0].axes, sources[0].inner.rank or 0
        widened = [o if o is None else self._widened(o, axes, rank) for o in inputs]
        if any(new is None and old is not None for new, old in zip(widened, inputs, strict=True)):
            return False
        outputs = tuple(
            Operand(o.dtype, _with_axes(o.shape, axes), name=o.name.partition("#")[0]) for o in node.outputs
        )
        self.nodes.append(like(node, tuple(widened), outputs))
        pairs = zip(node.outputs, outputs, strict=True)
        self.squeezed.update((old, Squeezed(new, axes)) for old, new in pairs)
        return True

    def _widened(self, operand: Operand, axes: tuple[int, ...], rank: int) -> Operand | None:
        """An operand with the axes; None where a node would have to add them."""
        if operand in self.squeezed:
            return self.squeezed[operand].inner
        if operand.shape is not None and all(n == 1 for n in operand.shape) and len(operand.shape) < rank:
            return operand
        array = operand.array
        if array is None or array.ndim > rank - len(axes):
            return None
        whole = array.reshape((1,) * (rank - len(axes) - array.ndim) + array.shape)
        return Operand(operand.dtype, value=np.expand_dims(whole, axes), name="widened")


def _with_axes(shape: Dims | None, axes: tuple[int, ...]) -> Dims | None:
    if shape is None:
        return None
    sizes = list(shape)
    for axis in axes:
        sizes.insert(axis, 1)
    return tuple(sizes)


def _ints(axes: tuple[int, ...]) -> Operand:
    return Operand(INT64, value=np.array(axes, np.int64))
