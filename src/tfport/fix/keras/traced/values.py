"""What the values of a traced graph are in the new model: tensors, constants, weights or sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun
from tfport.fix.keras.traced.body import TracedBody
from tfport.fix.keras.traced.functional import FunctionalModel, NewLayer, stored
from tfport.frontends.keras.config import TensorRef
from tfport.graph.dtypes import BOOL, STRING
from tfport.graph.graph import Node, Value
from tfport.graph.infer_shapes import infer_node, infer_shapes
from tfport.graph.op_facts.rule import Dims
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ELEMENTS = 1 << 20
"""The largest constant that is written into a configuration, which is text."""
AS_GRAPH = "`--as-graph` writes it as a constant, which is not trained"


@dataclass(frozen=True, slots=True)
class VariableHandle:
    """The handle of a variable."""

    number: int


@dataclass(frozen=True, slots=True)
class TracedWeight:
    """The value of a variable, or what follows from it alone."""

    name: str
    array: Callable[[], NDArray[Any]]

    @classmethod
    def of(cls, name: str, array: NDArray[Any]) -> TracedWeight:
        return cls(name, lambda: array)


@dataclass(frozen=True, slots=True)
class PartialSizes:
    """Small integers of which some follow from the sizes of the inputs; None for those."""

    elements: tuple[int | None, ...]


def plain(array: NDArray[Any]) -> Any:
    """A constant as an argument: a number if it is a scalar."""
    return array.item() if array.ndim == 0 and array.dtype.kind in "fiub" else np.ascontiguousarray(array)


class TracedValues:
    """The values of one graph, and the functional model that it becomes."""

    def __init__(self, body: TracedBody, name: str, *, constants: bool) -> None:
        self.body, self.constants = body, constants
        self.functional = FunctionalModel(name)
        self.inferred = infer_shapes(body.graph)
        self._improved: set[Value] = set()
        self.values: dict[Value, Any] = {}
        self.constant_weights: list[str] = []
        """The weights that became constants."""

    def shape(self, value: Value) -> tuple[int | None, ...] | None:
        return self.inferred.shape(value).dims

    def improve(self, value: Value, dims: Dims) -> None:
        """Note a shape that is known better than by inference."""
        if self.inferred.dims.get(value) != dims:
            self.inferred.dims[value] = dims
            self._improved.add(value)

    def infer_again(self, node: Node) -> None:
        """Infer the shapes of a node once more, if those of its inputs are known better now."""
        if self._improved.isdisjoint(node.inputs):
            return
        before = {v: (self.inferred.dims.get(v), self.inferred.elements.get(v)) for v in node.outputs}
        infer_node(node, self.inferred)
        for value, (dims, elements) in before.items():
            if value not in self.inferred.dims and dims is not None:
                self.inferred.dims[value] = dims
            if value not in self.inferred.elements and elements is not None:
                self.inferred.elements[value] = elements
            if (self.inferred.dims.get(value), self.inferred.elements.get(value)) != (dims, elements):
                self._improved.add(value)

    def rank(self, value: Value) -> int:
        dims = self.shape(value)
        if dims is None:
            raise self.refuse(value.node, "the rank of its input is not known")
        return len(dims)

    def array(self, value: Value) -> NDArray[Any]:
        """A constant; CannotRun if it is none."""
        content = self.values.get(value)
        if not isinstance(content, np.ndarray):
            raise self.refuse(value.node, "it is computed, and must be a constant")
        return content

    def weight(self, value: Value) -> NDArray[Any] | None:
        """The elements of a weight or constant; None if it is computed."""
        content = self.values.get(value)
        if isinstance(content, TracedWeight):
            return content.array()
        return content if isinstance(content, np.ndarray) else None

    def weight_of(self, number: int, node: Node) -> TracedWeight:
        """The value of a variable, by the number of its object."""
        raise self.refuse(node, "it reads a variable")

    def add_weight(self, layer: NewLayer, name: str, array: NDArray[Any]) -> None:
        layer.tracked.children[name] = stored(name, array)

    def is_constant(self, value: Value) -> bool:
        return isinstance(self.values.get(value), np.ndarray | TracedWeight)

    def operand(self, value: Value) -> Any:
        """A tensor or a constant, as an argument of a function."""
        content = self.values.get(value)
        if isinstance(content, TensorRef):
            return content
        if isinstance(content, TracedWeight):
            if not self.constants:
                used = ", ".join(sorted({user.op for user in value.uses}))
                raise CannotRun(
                    f"its weight `{content.name}` is used by {used}, which is no layer; {AS_GRAPH}"
                )
            self.constant_weights.append(content.name)
            content = content.array()
        if isinstance(content, np.ndarray):
            if content.size > MOST_ELEMENTS:
                raise self.refuse(
                    value.node, f"a constant of {content.size} elements is too large for a Keras file"
                )
            return plain(content)
        raise self.refuse(value.node, "a Keras model cannot compute with sizes that are not known")

    def tensor(self, value: Value) -> TensorRef:
        """A tensor; a constant is added to zeros that depend on the input."""
        content = self.operand(value)
        if isinstance(content, TensorRef):
            return content
        model = self.functional
        source = next((v for v in self.body.inputs.values() if v.dtype not in (STRING, BOOL)), None)
        if source is None or value.dtype in (STRING, BOOL):
            raise self.refuse(value.node, "a constant cannot be the only input of a layer")
        zeros = model.function("zeros_like", self.values[source])
        zero = model.function("math.reduce_sum", zeros)
        if source.dtype != value.dtype:
            zero = model.function("cast", zero, dtype=value.dtype.name)
        return model.function("math.add", zero, y=content)

    def attr(self, node: Node, name: str) -> Any:
        """An attribute, or what counts without it."""
        content = node.attrs.get(name)
        defaults = node.signature.defaults if content is None and node.signature is not None else {}
        return defaults.get(name) if content is None else content

    def refuse(self, node: Node, why: str) -> CannotRun:
        return CannotRun(f"node `{node.name}` ({node.op}): {why}")
