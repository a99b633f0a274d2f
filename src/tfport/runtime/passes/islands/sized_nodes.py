"""The nodes of an island for inputs of certain sizes: what only computes sizes becomes constant.

Branches that depend on sizes become the nodes of the one that is taken: the resizing of images has such
branches where the sizes of the images are not known before. So an engine that needs fixed sizes gets more of
an island in one part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.runtime.onnx.graph import captured_by
from tfport.runtime.onnx.known_results import OF_SIZES, NotKnown, known_result, of_sizes
from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.onnx.shapes import infer_shapes
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.passes.island_model import simplified
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sized_nodes(
    nodes: Sequence[OnnxNode], outputs: Sequence[Operand], sizes: Mapping[Operand, Sequence[int]]
) -> Sequence[OnnxNode]:
    """Nodes that answer as these do for inputs of the sizes; what else they read is not changed."""
    known = _KnownSizes(sizes, {*outputs, *captured_by(*nodes)})
    return simplified([new for node in nodes for new in known.sized(node)], outputs)


class _KnownSizes:
    """Operands of which more is known: the shape, or all elements."""

    def __init__(self, sizes: Mapping[Operand, Sequence[int]], needed: set[Operand]) -> None:
        self._known = {operand: Operand(operand.dtype, shape) for operand, shape in sizes.items()}
        self._results: dict[Operand, Operand] = {}
        """What nodes read in place of an operand."""
        self._needed = needed
        """Operands that must be results of nodes."""

    def sized(self, node: OnnxNode) -> list[OnnxNode]:
        inputs = [None if operand is None else self._known.get(operand, operand) for operand in node.inputs]
        if node.op == "If" and inputs[0] is not None and inputs[0].array is not None:
            return self._taken(node, bool(inputs[0].array))
        array = None if node.domain or node.programs else _known_array(node, inputs)
        if array is not None:
            return self._constant(node.outputs[0], array)
        shapes = infer_shapes(node.op, inputs, node.attrs, len(node.outputs))
        reads = tuple(None if operand is None else self._now(operand) for operand in node.inputs)
        writes = tuple(self._with_shape(*pair) for pair in zip(node.outputs, shapes, strict=True))
        means = node.means and (node.means[0], self._now(node.means[1]))
        return [replace(node, inputs=reads, outputs=writes, means=means)]

    def _now(self, operand: Operand) -> Operand:
        return self._results.get(operand, operand)

    def _with_shape(self, result: Operand, shape: Dims | None) -> Operand:
        """A result of a node with the shape that it has now."""
        if shape is None:
            return result
        sized = self._known[result] = Operand(result.dtype, shape, name=result.name.partition("#")[0])
        sized.never_negative = result.never_negative
        if result in self._needed:
            return result
        self._results[result] = sized
        return sized

    def _constant(self, result: Operand, array: NDArray[Any]) -> list[OnnxNode]:
        constant = self._known[result] = self._results[result] = Operand(result.dtype, value=array)
        return [OnnxNode("Identity", (constant,), (result,), {})] if result in self._needed else []

    def _taken(self, node: OnnxNode, condition: bool) -> list[OnnxNode]:
        """The nodes of the branch that is taken."""
        program = node.attrs["then_branch" if condition else "else_branch"]
        inner = list(nodes_of(program))
        self._needed.update(captured_by(*inner))
        nodes = [nodes for of_branch in inner for nodes in self.sized(of_branch)]
        for result, operand in zip(program.results, node.outputs, strict=True):
            self._known[operand] = self._known.get(result, result)
            self._results[operand] = self._now(result)
            if operand in self._needed:
                nodes.append(OnnxNode("Identity", (self._now(result),), (operand,), {}))
        return nodes


def _known_array(node: OnnxNode, inputs: Sequence[Operand | None]) -> NDArray[Any] | None:
    """The result of a node, if it is known."""
    first = inputs[0] if inputs else None
    if node.op in OF_SIZES and first is not None and first.shape is not None:
        sizes = [size for size in first.shape if size is not None]
        return of_sizes(node.op, node.attrs, sizes) if len(sizes) == len(first.shape) else None
    if not inputs or any(operand is not None and operand.array is None for operand in inputs):
        return None
    try:
        array = known_result(node.op, node.attrs, [None if o is None else o.array for o in inputs])
    except NotKnown:
        return None
    return array if array.dtype == node.outputs[0].dtype.numpy else None
