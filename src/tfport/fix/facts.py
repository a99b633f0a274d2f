"""Known shapes and constants of a program while it is rewritten.

They come from the file (`_output_shapes`), and from planning the program for tfport's runtime
(`fix.plan_facts`). A fact stays valid when the node of a value is replaced.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tfport.graph.constants import constant
from tfport.graph.graph import Value
from tfport.graph.model import Model
from tfport.graph.shapes import UNKNOWN, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.operand import Operand
    from tfport.runtime.trace import Env

CARRY = ("Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape")
MOST_CARRIED = 32


class Facts:
    """Shapes and constants of one program; without a model only those that the nodes state."""

    def __init__(self, model: Model | None = None) -> None:
        self._model = model
        self._shapes: dict[Value, Shape] = {}

    def shape(self, value: Value) -> Shape:
        """The known part of the shape of a value."""
        if value in self._shapes:
            return self._shapes[value]
        shape = value.shape
        if shape.dims is None or None in shape.dims:
            operand = self._inferred(value)
            if operand is not None and operand.shape is not None:
                shape = _merged(shape, operand.shape)
        self._shapes[value] = shape
        return shape

    def rank(self, value: Value) -> int | None:
        return self.shape(value).rank

    def constant(self, value: Value) -> NDArray[Any] | None:
        """The array of a value that is known to be constant, else None."""
        for _ in range(MOST_CARRIED):
            if value.node.op not in CARRY:
                break
            value = value.node.inputs[0]
        if (tensor := constant(value)) is not None:
            return tensor.numpy()
        operand = self._inferred(value)
        return operand.array if operand is not None else None

    def set_shape(self, value: Value, shape: Shape) -> None:
        """Record the shape of a new value."""
        self._shapes[value] = shape

    def _inferred(self, value: Value) -> Operand | None:
        """What planning knows about a value; a plan, which may take long, has none of function bodies."""
        if self._model is None or value.node.graph is not self._model.graph:
            return None
        return self._traced.get(value)

    @cached_property
    def _traced(self) -> Env:
        """What a plan of the main graph knows about its values; empty if planning fails."""
        assert self._model is not None
        from tfport.fix.plan_facts import traced

        return traced(self._model)


def _merged(shape: Shape, dims: tuple[int | None, ...]) -> Shape:
    if shape.dims is None or len(shape.dims) != len(dims):
        return Shape(dims) if shape == UNKNOWN else shape
    return Shape(tuple(b if a is None else a for a, b in zip(shape.dims, dims, strict=True)))
