"""Known shapes and constants of a program while it is rewritten.

They come from the file (`_output_shapes`), from what the ops do with shapes (`graph.infer_shapes`), and from
computing what depends on constants alone. A fact stays valid when the node of a value is replaced.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tfport.graph.constants import constant
from tfport.graph.graph import Node, Value
from tfport.graph.infer_shapes import InferredShapes, infer_shapes
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import PASSING
from tfport.graph.shapes import UNKNOWN, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.state import State

MOST_CARRIED = 32
MOST_DEPTH = 50
"""How many nodes after each other are computed for one constant."""


class Facts:
    """Shapes and constants of one program; without a model only those that the nodes state."""

    def __init__(self, model: Model | None = None) -> None:
        self._model = model
        self._shapes: dict[Value, Shape] = {}
        self._arrays: dict[Value, NDArray[Any] | None] = {}

    def shape(self, value: Value) -> Shape:
        """The known part of the shape of a value."""
        if value in self._shapes:
            return self._shapes[value]
        shape = value.shape
        if (shape.dims is None or None in shape.dims) and self._is_inferred(value):
            shape = _merged(shape, self._inferred.shape(value))
        self._shapes[value] = shape
        return shape

    def rank(self, value: Value) -> int | None:
        return self.shape(value).rank

    def constant(self, value: Value) -> NDArray[Any] | None:
        """The array of a value that is known to be constant, else None."""
        for _ in range(MOST_CARRIED):
            if value.node.op not in PASSING:
                break
            value = value.node.inputs[0]
        if (tensor := constant(value)) is not None:
            return tensor.numpy()
        return self._array(value) if self._is_inferred(value) else None

    def set_shape(self, value: Value, shape: Shape) -> None:
        """Record the shape of a new value."""
        self._shapes[value] = shape

    def _is_inferred(self, value: Value) -> bool:
        """Whether more is known than the file states: not in function bodies, whose arguments are unknown."""
        return self._model is not None and value.node.graph is self._model.graph

    @cached_property
    def _inferred(self) -> InferredShapes:
        assert self._model is not None
        return infer_shapes(self._model.graph)

    @cached_property
    def _state(self) -> State:
        assert self._model is not None
        from tfport.runtime.state import State

        return State(self._model)

    def _array(self, value: Value, depth: int = 0) -> NDArray[Any] | None:
        """The array of a constant, or of what constants or shapes alone determine."""
        if value not in self._arrays:
            self._arrays[value] = self._stated_array(value)
            if self._arrays[value] is None and depth < MOST_DEPTH:
                self._compute(value.node, depth + 1)
        return self._arrays[value]

    def _stated_array(self, value: Value) -> NDArray[Any] | None:
        """The array of a Const, or of small integers that follow from shapes."""
        import numpy as np

        if (tensor := constant(value)) is not None:
            return tensor.numpy()
        known, dims = self._inferred.elements.get(value), self._inferred.dims.get(value)
        sizes = [size for size in dims or () if size is not None]
        if known is None or None in known or dims is None or len(sizes) < len(dims):
            return None
        return np.array(known, value.dtype.base.numpy).reshape(sizes)

    def _compute(self, node: Node, depth: int) -> None:
        """Note the outputs of a node if all of its inputs are constant."""
        from tfport.runtime.evaluate import evaluated

        arrays = []
        for value in node.inputs:
            if (array := self._array(value, depth)) is None:
                return
            arrays.append(array)
        if arrays and (results := evaluated(node, arrays, self._state)) is not None:
            self._arrays.update(zip(node.outputs, results, strict=True))


def _merged(shape: Shape, other: Shape) -> Shape:
    if shape.dims is None or other.dims is None or len(shape.dims) != len(other.dims):
        return other if shape == UNKNOWN else shape
    return Shape(tuple(b if a is None else a for a, b in zip(shape.dims, other.dims, strict=True)))
