"""The nodes of an island for inputs of certain sizes: what only computes sizes becomes constant.

Branches that depend on sizes become the nodes of the one that is taken: the resizing of images has such
branches where the sizes of the images are not known before. So an engine that needs fixed sizes gets more of
an island in one part.

Sizes may also say that all answers are empty, and that no node can fail: then nothing has to run
(`empty_results`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.onnx.graph import captured_by
from tfport.runtime.onnx.known_results import OF_SIZES, NotKnown, known_result, of_sizes
from tfport.runtime.onnx.least_size import keeps_elements
from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.onnx.op_facts import REDUCTIONS, TOGETHER, UNARY
from tfport.runtime.onnx.shapes import infer_shapes
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.passes.island_model import simplified
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EACH_ALIKE = frozenset(TOGETHER.split()) - {"Mod"}
_NEVER_FAIL = frozenset(
    f"{UNARY} {REDUCTIONS} BatchNormalization LogSoftmax Slice Softmax Transpose Unsqueeze".split()
)
"""Ops that have an answer for any sizes and numbers, as far as lowerings use them."""
_WINDOWS = frozenset(["AveragePool", "Conv", "MaxPool"])
MOST_NUMBERS = 64
"""Constants with more elements are weights: they do not say sizes."""


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
        """The operands that replace others as inputs of nodes."""
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


def without_weights(nodes: Sequence[OnnxNode]) -> list[OnnxNode] | None:
    """What `empty_results` needs of these nodes; None if there are nodes that it does not know."""
    known = _EACH_ALIKE | _NEVER_FAIL | _WINDOWS | {"Concat", "If", "Squeeze"}
    within = [inner for node in nodes for program in node.programs for inner in nodes_of(program)]
    if any(node.op not in known or node.domain for node in (*nodes, *within)):
        return None
    if any(map(_is_large, (operand for node in within for operand in node.inputs))):
        return None
    lighter = [tuple(Operand(o.dtype, o.shape) if o and _is_large(o) else o for o in n.inputs) for n in nodes]
    return [replace(node, inputs=inputs) for node, inputs in zip(nodes, lighter, strict=True)]


def _is_large(operand: Operand | None) -> bool:
    return operand is not None and operand.array is not None and operand.array.size > MOST_NUMBERS


def empty_results(
    nodes: Sequence[OnnxNode], outputs: Sequence[Operand], sizes: Mapping[Operand, Sequence[int]]
) -> list[NDArray[Any]] | None:
    """The answers for inputs of the sizes if none has elements, and no node can fail; else None."""
    shapes = _shapes(nodes, {operand: tuple(shape) for operand, shape in sizes.items()})
    if shapes is None:
        return None
    results = []
    for output in outputs:
        shape = shapes.get(output)
        known = [size for size in shape or () if size is not None]
        if shape is None or len(known) < len(shape) or 0 not in known:
            return None
        results.append(np.empty(known, output.dtype.numpy))
    return results


def _shapes(nodes: Iterable[OnnxNode], known: dict[Operand, Dims]) -> dict[Operand, Dims] | None:
    """The shapes of what nodes compute, from those of their inputs; None if a node may fail."""
    for node in nodes:
        inputs = [_of_shape(operand, known) for operand in node.inputs]
        if node.domain:
            return None
        if node.op == "If":
            branches = [node.attrs["then_branch"], node.attrs["else_branch"]]
            if any(_shapes(nodes_of(branch), known) is None for branch in branches):
                return None
            results = [[known.get(o, o.shape) for o in branch.results] for branch in branches]
            shapes = [taken if taken == other else None for taken, other in zip(*results, strict=True)]
        elif _never_fails(node, inputs):
            shapes = infer_shapes(node.op, inputs, node.attrs, len(node.outputs))
        else:
            return None
        known.update((o, shape) for o, shape in zip(node.outputs, shapes, strict=True) if shape is not None)
    return known


def _of_shape(operand: Operand | None, known: Mapping[Operand, Dims]) -> Operand | None:
    return Operand(operand.dtype, known[operand]) if operand is not None and operand in known else operand


def _never_fails(node: OnnxNode, inputs: Sequence[Operand | None]) -> bool:
    """Whether a node has an answer for all inputs of these shapes, also in TensorFlow."""
    shapes = [operand.shape for operand in inputs if operand is not None]
    if node.op in _EACH_ALIKE:
        if node.op == "Div" and node.outputs[0].dtype.is_integer:
            return False
        ranks = [len(shape) for shape in shapes if shape is not None]
        return len(ranks) == len(shapes) and all(
            len({shape[-i] for shape in shapes if shape is not None and len(shape) >= i} - {1}) <= 1
            for i in range(1, max(ranks) + 1)
        )
    if node.op == "Concat":
        axis = node.attrs["axis"]
        others = {None if s is None else (*s[:axis], *s[axis:][1:]) for s in shapes}
        return axis >= 0 and None not in others and len(others) == 1
    if node.op == "Squeeze":
        axes = inputs[1].array if len(inputs) > 1 and inputs[1] is not None else None
        shape = shapes[0]
        return shape is not None and axes is not None and all(shape[int(a)] == 1 for a in axes.reshape(-1))
    return keeps_elements(node) if node.op in _WINDOWS else node.op in _NEVER_FAIL
