"""What is known of the values of a program while it is rewritten: shapes and constants.

First what the file itself says (`_output_shapes`), then what planning the program for
tfport's runtime finds out. A fact stays true when the node that makes a value is replaced.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tfport.graph.edit import constant
from tfport.graph.graph import Value
from tfport.graph.model import Model
from tfport.graph.shapes import UNKNOWN, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.trace import Env

CARRY = ("Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape")
MOST_CARRIED = 32


class Facts:
    """Shapes and constants of one program; without a model only what the nodes say."""

    def __init__(self, model: Model | None = None) -> None:
        self._model = model
        self._told: dict[Value, Shape] = {}

    def shape(self, value: Value) -> Shape:
        """The shape as far as it is known."""
        if value in self._told:
            return self._told[value]
        found = value.shape
        if found.dims is None or None in found.dims:
            operand = self._traced.get(value)
            if operand is not None and operand.shape is not None:
                found = _merged(found, operand.shape)
        self._told[value] = found
        return found

    def rank(self, value: Value) -> int | None:
        return self.shape(value).rank

    def constant(self, value: Value) -> NDArray[Any] | None:
        """The array that a value always is, where that is known."""
        for _ in range(MOST_CARRIED):
            if value.node.op not in CARRY:
                break
            value = value.node.inputs[0]
        if (tensor := constant(value)) is not None:
            return tensor.numpy()
        operand = self._traced.get(value)
        return operand.array if operand is not None else None

    def tell(self, value: Value, shape: Shape) -> None:
        """A value that was made has this shape."""
        self._told[value] = shape

    @cached_property
    def _traced(self) -> Env:
        """What a plan for the main graph knows of its values; nothing where none can be made."""
        if self._model is None:
            return {}
        from tfport.fix.plan_facts import traced

        return traced(self._model)


def _merged(shape: Shape, dims: tuple[int | None, ...]) -> Shape:
    if shape.dims is None or len(shape.dims) != len(dims):
        return Shape(dims) if shape == UNKNOWN else shape
    return Shape(tuple(b if a is None else a for a, b in zip(shape.dims, dims, strict=True)))
