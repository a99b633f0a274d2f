"""Build the nodes of a rule: `op.MatMul(a, b, transpose_b=True)` next to the rewritten node.

Inputs are values, nodes (their first output), lists of these, or plain numbers and arrays,
which become constants. Attributes that follow from the inputs may be omitted. Other omitted
attributes get the newest definition's default as an explicit value, since an older release may
have a different default. `undo` removes the new nodes, as long as nothing else reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.control_ops import SWITCHES
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.node_inputs import (
    OperandLike,
    attr_value,
    node_inputs,
    type_of,
    typed_array,
)
from tfport.graph.op_signature import OpSignature
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class NodeBuilder:
    """Adds nodes next to one node; knows shapes and constants of the values that they read."""

    def __init__(self, beside: Node, facts: Facts, checker: NodeChecker) -> None:
        self.beside, self.facts, self.checker = beside, facts, checker
        self.made: list[Node] = []
        self._anchor: list[Node] | None = None

    def __getattr__(self, op: str) -> Callable[..., Node]:
        if op.startswith("__"):
            raise AttributeError(op)
        return lambda *inputs, **attrs: self.node(op, *inputs, **attrs)

    def node(self, op: str, *inputs: OperandLike, **attrs: Any) -> Node:
        """Add a node of an op; attributes whose name starts with `_` are dropped."""
        signature = self.beside.graph.ops.get(op)
        if signature is None:
            raise MalformedGraph(f"a rule builds {op}, an unknown op")
        named = {name: value for name, value in attrs.items() if not name.startswith("_")}
        if unknown := sorted(set(named) - set(signature.attr_types)):
            raise MalformedGraph(f"a rule sets {op}.{unknown[0]}, but {op} has no such attribute")
        explicit = {name: attr_value(value, signature.attr_types[name]) for name, value in named.items()}
        values = node_inputs(signature, list(inputs), explicit, self.const)
        return self._add(op, values, self._known_to_target(op, signature, explicit))

    def const(self, value: ArrayLike, dtype: DType | None = None) -> Value:
        """Add a constant; plain numbers without a dtype become int32, float32, bool or string."""
        kind = dtype or type_of(value)
        array = typed_array(value, kind)
        attrs: dict[str, Attr] = {"dtype": kind, "value": Tensor.from_numpy(array, kind)}
        made = self._add("Const", [], attrs).output(0)
        self.facts.set_shape(made, Shape(array.shape))
        return made

    def shape(self, value: Value) -> tuple[int | None, ...] | None:
        """The dimensions of a value, None for an unknown one; None if the rank is unknown."""
        return self.facts.shape(value).dims

    def constant(self, value: Value) -> NDArray[Any] | None:
        """The array of a value that is known to be constant, else None."""
        return self.facts.constant(value)

    def has(self, op: str) -> bool:
        """Whether the target registers an op."""
        return self.checker.definition(op) is not None

    def undo(self) -> None:
        """Remove every node that was added."""
        for node in self.made:
            node.set_inputs(())
            node.set_controls(())
        for node in self.made:
            self.beside.graph.remove(node)
        self.made.clear()

    def _add(self, op: str, values: Sequence[Value], attrs: dict[str, Attr]) -> Node:
        beside = self.beside
        controls = () if values else self._anchors()
        node = beside.graph.add(
            op, values, attrs, name=f"{beside.name}/{op}", controls=controls, device=beside.device
        )
        self.made.append(node)
        return node

    def _anchors(self) -> list[Node]:
        """Control inputs of a node without inputs, so that it runs in the same branch or loop iteration."""
        if not self.beside.graph.has_branches:
            return []
        if self._anchor is None:
            if not self.beside.inputs:
                self._anchor = list(self.beside.controls)
            else:
                first = self.beside.inputs[0]
                self._anchor = [first.node]
                if first.node.op in SWITCHES:  # a Switch runs whichever output it forwards to
                    self._anchor = [self._add("Identity", [first], {"T": first.dtype.base})]
        return self._anchor

    def _known_to_target(self, op: str, signature: OpSignature, explicit: dict[str, Attr]) -> dict[str, Attr]:
        """All attributes, except default values of attributes that the target's op does not have."""
        attrs = {**signature.defaults, **explicit}
        known = self.checker.definition(op)
        if known is None:
            return attrs
        names = {attr.name for attr in known.attr}
        return {k: v for k, v in attrs.items() if k in names or v != signature.defaults.get(k)}
