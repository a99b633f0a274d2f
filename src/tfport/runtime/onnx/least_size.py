"""How small images may be, before a window of an island does not fit into one or meets an empty one.

Windows with SAME padding give elements for any image that has elements. If only such windows and other
nodes that keep this true come before the windows of an island, none of its images runs out, whatever the
unknown sizes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.onnx.op_facts import TOGETHER, UNARY
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

ANY = 0
"""The sizes of all windows are known, and fit."""
NOT_EMPTY = 1
LARGE = 128
"""Images of at least this size do not shrink to nothing in any known network."""
_WINDOWS = ("Conv", "MaxPool", "AveragePool")
_KEEP_ELEMENTS = frozenset([
    *UNARY.split(), *TOGETHER.split(), "BatchNormalization", "Concat", "DepthToSpace", "Flatten",
    "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax",
    "MatMul", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Reshape", "Softmax", "Squeeze",
    "Transpose", "Unsqueeze",
])  # fmt: skip
"""Ops whose outputs have elements if their inputs have."""
_OF_FIRST_INPUT = frozenset(["Pad", "Reshape", "Resize"])
"""Ops with further inputs that say the shape of the output."""


def least_size(nodes: Sequence[OnnxNode]) -> int:
    """The size that inputs must have so that every window of these nodes fits into its image."""
    waiting = [node for node in nodes if node.op in _WINDOWS and _is_open(node.outputs[0])]
    if not waiting:
        return ANY
    graph, seen = OnnxGraph(nodes), set(waiting)
    while waiting:
        node = waiting.pop()
        if not keeps_elements(node):
            return LARGE
        for operand in node.inputs[:1] if node.op in _OF_FIRST_INPUT else node.inputs:
            if operand is not None and operand.array is not None and not operand.array.size:
                return LARGE
            producer = graph.producer(operand)
            if producer is not None and producer not in seen:
                seen.add(producer)
                waiting.append(producer)
    return NOT_EMPTY


def _is_open(image: Operand) -> bool:
    """Whether a spatial size is unknown."""
    return image.shape is None or None in image.shape[2:]


def keeps_elements(node: OnnxNode) -> bool:
    """Whether the outputs of a node have elements if its inputs have."""
    if node.domain:
        return False
    if node.op in _WINDOWS:
        return all(extent - padding <= 1 for extent, padding in _extents(node.attrs))
    if node.op == "ConvTranspose":
        return "output_shape" not in node.attrs and all(
            extent - padding >= 1 for extent, padding in _extents(node.attrs)
        )
    if node.op == "Pad":
        return _is_at_least(node.inputs[1], 0)
    if node.op == "Resize":
        return len(node.inputs) == 3 and _is_at_least(node.inputs[2], 1)
    return node.op in _KEEP_ELEMENTS


def _extents(attrs: dict[str, Any]) -> list[tuple[int, int]]:
    """The extent of a window along each axis, and the padding of the image."""
    kernel = attrs["kernel_shape"]
    steps = attrs.get("dilations") or [1] * len(kernel)
    extents = [(size - 1) * step + 1 for size, step in zip(kernel, steps, strict=True)]
    if str(attrs.get("auto_pad", "")).startswith("SAME"):
        return [(extent, extent - 1) for extent in extents]
    pads = attrs.get("pads") or [0] * (2 * len(kernel))
    totals = map(sum, zip(pads[: len(kernel)], pads[len(kernel) :], strict=True))
    return list(zip(extents, totals, strict=True))


def _is_at_least(operand: Operand | None, least: int) -> bool:
    """Whether an operand is constant, and no element is smaller."""
    return operand is not None and operand.array is not None and bool((operand.array >= least).all())
