"""Recognize reshapes to the shape that a tensor already has, and pass the tensor on.

Layers that take any shape reshape what they are given, often from a matrix to the same matrix: to the
number of its rows and a constant. That the sizes are the same is proven with expressions of the unknown ones
(`symbolic_values`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.graph.attrs import Attr
from tfport.graph.graph import Node
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.size_expression import Number
from tfport.runtime.symbolic_values import SymbolicValues, size_of_axis
from tfport.runtime.trace import Tracer

INFERRED = -1


@structure("Reshape")
def reshaped(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> Sequence[Operand]:
    """The tensor itself, where it has this shape already."""
    tensor, shape = inputs
    if not tensor.is_constant and _has_shape(tracer, tensor, shape):
        return [tensor]
    return tracer.plain(node, inputs, attrs)


def _has_shape(tracer: Tracer, tensor: Operand, shape: Operand) -> bool:
    """Whether a tensor certainly has a shape."""
    if tensor.shape is None or shape.shape != (len(tensor.shape),):
        return False
    sizes = SymbolicValues(tracer).of(shape)
    if sizes is None:
        return False
    wanted: list[Number] = sizes.tolist()
    there = [size_of_axis(tracer, tensor, axis) for axis in range(len(wanted))]
    if INFERRED not in wanted:
        return wanted == there
    # TensorFlow infers no size if another one is 0
    pairs = [pair for pair in zip(wanted, there, strict=True) if pair[0] != INFERRED]
    return len(pairs) == len(wanted) - 1 and all(w == t and isinstance(w, int) and w > 0 for w, t in pairs)
