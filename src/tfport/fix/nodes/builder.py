"""Build the nodes of a rule: `op.MatMul(a, b, transpose_b=True)` next to the rewritten node.

Inputs are values, nodes (their first output), lists of these, or plain numbers and arrays,
which become constants. Attributes that follow from the inputs may be omitted. Other omitted
attributes get the newest definition's default as an explicit value, since an older release may
have a different default. `undo` removes the new nodes, as long as nothing else reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.control_ops import SWITCHES
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, STRING, DType
from tfport.graph.graph import Node, Value
from tfport.graph.op_signature import Arg, OpSignature
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

OperandLike = Any
"""A value, a node, a number, an array, or a list of such."""


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
        explicit = {name: _attr(value, signature.attr_types[name]) for name, value in named.items()}
        values = self._values(signature, list(inputs), explicit)
        return self._add(op, values, self._known_to_target(op, signature, explicit))

    def const(self, value: ArrayLike, dtype: DType | None = None) -> Value:
        """Add a constant; plain numbers without a dtype become int32, float32, bool or string."""
        kind = dtype or _type_of(value)
        array = _array(value, kind)
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

    def _values(
        self, signature: OpSignature, inputs: list[OperandLike], attrs: dict[str, Attr]
    ) -> list[Value]:
        """The inputs as values; attributes that follow from them are added to `attrs`."""
        groups = list(_grouped(signature, inputs, attrs))
        for arg, group in groups:
            _decide(arg, [_typed(operand) for operand in group], attrs)
        values = []
        for arg, group in groups:
            for place, operand in enumerate(group):
                kind = (
                    arg.type_at(place, {**signature.defaults, **attrs}) if _typed(operand) is None else None
                )
                values.append(self._value(operand, kind))
            if arg.type_attr and group and arg.type_attr not in signature.defaults:
                attrs.setdefault(arg.type_attr, values[-1].dtype.base)
        return values

    def _value(self, operand: OperandLike, dtype: DType | None) -> Value:
        if isinstance(operand, Node):
            return operand.output(0)
        return (
            operand
            if isinstance(operand, Value)
            else self.const(operand, dtype if dtype and dtype.number else None)
        )


def _grouped(
    signature: OpSignature, inputs: list[OperandLike], attrs: dict[str, Attr]
) -> Iterator[tuple[Arg, list[OperandLike]]]:
    """The inputs by argument: one entry per argument, or a flat list whose lengths the attributes tell."""
    by_argument = len(inputs) == len(signature.inputs) and all(
        isinstance(operand, list | tuple) or not arg.is_list
        for arg, operand in zip(signature.inputs, inputs, strict=True)
    )
    rest = list(inputs)
    for arg in signature.inputs:
        if by_argument:
            first = rest.pop(0)
            yield arg, list(first) if arg.is_list else [first]
        else:
            count = arg.count({**signature.defaults, **attrs})
            yield arg, rest[:count]
            rest = rest[count:]
    if rest:
        raise MalformedGraph(f"a rule gives {signature.name} {len(inputs)} inputs, {len(rest)} too many")


def _typed(operand: OperandLike) -> DType | None:
    """The dtype of a node or value; None for a plain number."""
    value = operand.output(0) if isinstance(operand, Node) else operand
    return value.dtype.base if isinstance(value, Value) else None


def _decide(arg: Arg, types: list[DType | None], attrs: dict[str, Attr]) -> None:
    if arg.list_attr:
        attrs.setdefault(arg.list_attr, [dtype or FLOAT32 for dtype in types])
    if arg.number_attr:
        attrs.setdefault(arg.number_attr, len(types))
    if arg.type_attr and (known := next((dtype for dtype in types if dtype is not None), None)):
        attrs.setdefault(arg.type_attr, known)


def _attr(value: Any, kind: str) -> Attr:
    """An attribute as graphs store it; accepts dtypes by name, and tuples for lists."""
    if isinstance(value, tuple | list):
        return [_attr(element, kind.removeprefix("list(").removesuffix(")")) for element in value]
    return DType.parse(value) if kind == "type" and isinstance(value, str) else value


def _type_of(value: ArrayLike) -> DType:
    kind = np.asarray(value).dtype
    if isinstance(value, np.ndarray | np.generic) and kind.kind not in "OSU":
        return DType.parse(kind.name)
    return {"b": BOOL, "i": INT32, "u": INT32, "f": FLOAT32}.get(kind.kind, STRING)


def _array(value: ArrayLike, dtype: DType) -> NDArray[Any]:
    if dtype != STRING:
        return np.asarray(value, dtype.numpy)
    array = np.asarray(value, object)
    flat = [element if isinstance(element, bytes) else str(element).encode() for element in array.reshape(-1)]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(array.shape)
