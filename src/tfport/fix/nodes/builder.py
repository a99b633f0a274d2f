"""Build the nodes of a rule: `op.MatMul(a, b, transpose_b=True)` next to the rewritten node.

Omitted attributes get the newest definition's default as an explicit value, since an older release may
have a different default. `undo` removes the new nodes, as long as nothing else reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.graph.attrs import Attr
from tfport.graph.building.node_builder import Dims, NodeBuilder
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import ALL_SWITCHES
from tfport.graph.op_signature import OpSignature
from tfport.graph.shapes import Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RuleBuilder(NodeBuilder[Value]):
    """Adds nodes next to one node; knows shapes and constants of the values that they read."""

    author = "a rule"

    def __init__(self, beside: Node, facts: Facts, checker: NodeChecker) -> None:
        super().__init__(beside.graph, beside.name, beside.device)
        self.beside, self.facts, self.checker = beside, facts, checker
        self._anchor: list[Node] | None = None

    def shape(self, tensor: Any) -> Dims | None:
        return self.facts.shape(self.value(tensor)).dims

    def set_shape(self, value: Value, dims: Dims) -> None:
        self.facts.set_shape(value, Shape(dims))

    def results(self, node: Node) -> list[Value]:
        for value in node.inputs:
            if (dims := self.shape(value)) is not None:
                self.inferred.dims[value] = dims
        return super().results(node)

    def array(self, value: Value) -> NDArray[Any] | None:
        return self.facts.constant(value)

    def has(self, op: str) -> bool:
        """Whether the target registers an op."""
        return self.checker.definition(op) is not None

    def undo(self) -> None:
        """Remove every node that was added."""
        for node in self.added:
            node.set_inputs(())
            node.set_controls(())
        for node in self.added:
            self.graph.remove(node)
        self.added.clear()

    def _add(
        self,
        op: str,
        values: Sequence[Value],
        attrs: dict[str, Attr],
        *,
        controls: Sequence[Node] = (),
        name: str = "",
    ) -> Node:
        return super()._add(op, values, attrs, controls=controls if values else self._anchors(), name=name)

    def _anchors(self) -> list[Node]:
        """Control inputs of a node without inputs, so that it runs in the same branch or loop iteration."""
        if not self.graph.has_branches:
            return []
        if self._anchor is None:
            if not self.beside.inputs:
                self._anchor = list(self.beside.controls)
            else:
                first = self.beside.inputs[0]
                self._anchor = [first.node]
                if first.node.op in ALL_SWITCHES:  # a Switch runs whichever output it forwards to
                    self._anchor = [self._add("Identity", [first], {"T": first.dtype.base})]
        return self._anchor

    def _attrs(self, op: str, signature: OpSignature, explicit: dict[str, Attr]) -> dict[str, Attr]:
        return target_attrs(self.checker, op, signature, explicit)


def target_attrs(
    checker: NodeChecker, op: str, signature: OpSignature, explicit: dict[str, Attr]
) -> dict[str, Attr]:
    """All attributes, except default values of attributes that the target's op does not have."""
    attrs = {**signature.defaults, **explicit}
    known = checker.definition(op)
    if known is None:
        return attrs
    names = {attr.name for attr in known.attr}
    return {k: v for k, v in attrs.items() if k in names or v != signature.defaults.get(k)}


def attrs_without(n: Node, *names: str) -> dict[str, Any]:
    """The attributes of a node, except for these."""
    return {name: value for name, value in n.attrs.items() if name not in names}
