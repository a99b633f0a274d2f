"""Reshape once where several nodes in a row only reshape, and not at all where the first shape comes back.

A layer of a quantized TensorFlow Lite model multiplies rows as images of one pixel, so between two layers the
same numbers are reshaped up to four times. A Transpose that only moves axes of size 1 is a Reshape too.

No node is removed here: what nothing reads any more is left out later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.layout_state import like
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.program import OnnxNode

_AXES = frozenset(["Flatten", "Squeeze", "Unsqueeze"])


def with_fewer_reshapes(nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """The same nodes, reading what was reshaped instead of what a chain of reshapes computes."""
    sources: dict[Operand, Operand] = {}
    """What was reshaped, for each operand that only has another shape."""
    same: dict[Operand, Operand] = {}
    """What to read instead of an operand with the same shape."""
    rewritten = []
    for node in nodes:
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
        rewritten.append(current)
    return rewritten


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
