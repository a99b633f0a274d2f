"""A node as shape rules see it, and what they infer for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.graph.constants import constant
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.compared import shape_rule_of
from tfport.graph.op_facts.rule import NEWEST, Changes, Dims, OpCall, Outputs, ShapeConflict, ShapeRule

Elements = Callable[[Value], Dims | None]
MOST_ELEMENTS = 64
"""A longer constant is not read: it is no list of axes or sizes."""
INVALID = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a rule raises for missing inputs and invalid attributes, which are other findings."""


def constant_elements(value: Value) -> Dims | None:
    """The elements of a short integer constant; None if it is not one."""
    tensor = constant(value)
    if tensor is None or (tensor.shape.size or 0) > MOST_ELEMENTS or not tensor.dtype.is_integer:
        return None
    return tuple(tensor.integers())


class NodeCall(OpCall):
    """A node with the shapes of its inputs, as shape rules see it."""

    __slots__ = ("_elements", "node")

    def __init__(
        self,
        node: Node,
        shapes: Sequence[Dims | None],
        elements: Elements = constant_elements,
        changes: Changes = NEWEST,
    ) -> None:
        super().__init__(node.op, shapes, changes)
        self.node, self._elements = node, elements

    @property
    def version(self) -> int:  # type: ignore[override]
        rest = self.node.graph.rest
        return rest.versions.producer or rest.version

    def attr(self, name: str, default: Any = None) -> Any:
        value = self.node.attr(name)
        if value is None and (signature := self.node.signature) is not None:
            value = signature.defaults.get(name)
        return default if value is None else value

    def elements(self, index: int) -> Dims | None:
        inputs = self.node.inputs
        return self._elements(inputs[index]) if index < len(inputs) else None

    def dtype(self, index: int) -> DType:
        return self.node.inputs[index].dtype


def output_dims(call: OpCall, outputs: int | None) -> Outputs:
    """The sizes of each of this number of outputs; all unknown if the inputs contradict each other."""
    rule = shape_rule_of(call.op)
    try:
        inferred = None if rule is None else inferred_dims(call, rule)
    except ShapeConflict:
        inferred = None
    if inferred is None or (outputs is not None and len(inferred) != outputs):
        return [None] * (outputs or 0)
    return inferred


def inferred_dims(call: OpCall, rule: ShapeRule) -> Outputs | None:
    """What a rule infers; None where the node is invalid otherwise."""
    try:
        return rule(call)
    except INVALID:
        return None
