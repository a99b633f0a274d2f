"""Makes the nodes of a rule: `op.MatMul(a, b, transpose_b=True)` beside the node that is rewritten.

Inputs are values, nodes (their first output), lists of these, or plain numbers and arrays,
which become constants. Attributes that the inputs decide need not be said; the others have
the newest definition's defaults, said outright: an older release may have another default.
What was made can be taken back as long as nothing else reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, STRING, DType
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import Shape
from tfport.graph.signature import Arg, OpSignature
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Given = Any
"""A value, a node, a number, an array, or a list of such."""
SWITCHES = ("Switch", "RefSwitch", "_SwitchN")


class NodeBuilder:
    """Nodes beside one node, and what is known of the values they read."""

    def __init__(self, beside: Node, facts: Facts, checker: NodeChecker) -> None:
        self.beside, self.facts, self.checker = beside, facts, checker
        self.made: list[Node] = []
        self._anchor: list[Node] | None = None

    def __getattr__(self, op: str) -> Callable[..., Node]:
        if op.startswith("__"):
            raise AttributeError(op)
        return lambda *inputs, **attrs: self.node(op, *inputs, **attrs)

    def node(self, op: str, *inputs: Given, **attrs: Any) -> Node:
        """A node of an op, of which the attributes of one's own, `_so_called`, are left out."""
        signature = self.beside.graph.ops.get(op)
        if signature is None:
            raise MalformedGraph(f"a rule makes {op}, which nobody has defined")
        named = {name: value for name, value in attrs.items() if not name.startswith("_")}
        if strange := sorted(set(named) - set(signature.attr_types)):
            raise MalformedGraph(f"a rule gives {op} the attribute {strange[0]}, which it has not")
        said = {name: _attr(value, signature.attr_types[name]) for name, value in named.items()}
        values = self._values(signature, list(inputs), said)
        return self._add(op, values, self._known_to_target(op, signature, said))

    def const(self, value: ArrayLike, dtype: DType | None = None) -> Value:
        """A constant; of a plain number without a type, int32, float32, bool or string."""
        kind = dtype or _type_of(value)
        array = _array(value, kind)
        attrs: dict[str, Attr] = {"dtype": kind, "value": Tensor.from_numpy(array, kind)}
        made = self._add("Const", [], attrs).output(0)
        self.facts.tell(made, Shape(array.shape))
        return made

    def shape(self, value: Value) -> tuple[int | None, ...] | None:
        """The sizes of a value, None for each that is unknown; None where not even the rank is known."""
        return self.facts.shape(value).dims

    def constant(self, value: Value) -> NDArray[Any] | None:
        """The array that a value always is, where that is known."""
        return self.facts.constant(value)

    def has(self, op: str) -> bool:
        """Whether the target registers an op; rules that could go either way ask."""
        return self.checker.definition(op) is not None

    def undo(self) -> None:
        """Take back everything that was made."""
        for node in self.made:
            node.set_inputs(())
            node.set_controls(())
        for node in self.made:
            self.beside.graph.remove(node)
        self.made.clear()

    def _add(self, op: str, values: Sequence[Value], attrs: dict[str, Attr]) -> Node:
        beside = self.beside
        controls = () if values else self._where()
        node = beside.graph.add(
            op, values, attrs, name=f"{beside.name}/{op}", controls=controls, device=beside.device
        )
        self.made.append(node)
        return node

    def _where(self) -> list[Node]:
        """What a node without inputs waits for, so that it runs in the same branch and turn of a loop."""
        if not self.beside.graph.has_branches:
            return []
        if self._anchor is None:
            if not self.beside.inputs:
                self._anchor = list(self.beside.controls)
            else:
                first = self.beside.inputs[0]
                self._anchor = [first.node]
                if first.node.op in SWITCHES:  # it runs whichever way it sends its value
                    self._anchor = [self._add("Identity", [first], {"T": first.dtype.base})]
        return self._anchor

    def _known_to_target(self, op: str, signature: OpSignature, said: dict[str, Attr]) -> dict[str, Attr]:
        """All attributes, but for those that the target's op has not and that are at their defaults."""
        attrs = {**signature.defaults, **said}
        known = self.checker.definition(op)
        if known is None:
            return attrs
        names = {attr.name for attr in known.attr}
        return {k: v for k, v in attrs.items() if k in names or v != signature.defaults.get(k)}

    def _values(self, signature: OpSignature, inputs: list[Given], said: dict[str, Attr]) -> list[Value]:
        """The inputs as values; attributes that they decide are entered into `said`."""
        groups = list(_grouped(signature, inputs, said))
        for arg, group in groups:
            _decide(arg, [_typed(one) for one in group], said)
        values = []
        for arg, group in groups:
            for place, one in enumerate(group):
                kind = arg.type_at(place, {**signature.defaults, **said}) if _typed(one) is None else None
                values.append(self._value(one, kind))
            if arg.type_attr and group and arg.type_attr not in signature.defaults:
                said.setdefault(arg.type_attr, values[-1].dtype.base)
        return values

    def _value(self, given: Given, dtype: DType | None) -> Value:
        if isinstance(given, Node):
            return given.output(0)
        return (
            given
            if isinstance(given, Value)
            else self.const(given, dtype if dtype and dtype.number else None)
        )


def _grouped(
    signature: OpSignature, inputs: list[Given], said: dict[str, Attr]
) -> Iterator[tuple[Arg, list[Given]]]:
    """The inputs by argument: given so, or one after the other where attributes say how many."""
    by_argument = len(inputs) == len(signature.inputs) and all(
        isinstance(one, list | tuple) or not arg.is_list
        for arg, one in zip(signature.inputs, inputs, strict=True)
    )
    rest = list(inputs)
    for arg in signature.inputs:
        if by_argument:
            first = rest.pop(0)
            yield arg, list(first) if arg.is_list else [first]
        else:
            count = arg.count({**signature.defaults, **said})
            yield arg, rest[:count]
            rest = rest[count:]
    if rest:
        raise MalformedGraph(
            f"a rule gives {signature.name} {len(inputs)} inputs, which are {len(rest)} too many"
        )


def _typed(given: Given) -> DType | None:
    """The type of an input that has one of its own."""
    value = given.output(0) if isinstance(given, Node) else given
    return value.dtype.base if isinstance(value, Value) else None


def _decide(arg: Arg, types: list[DType | None], said: dict[str, Attr]) -> None:
    if arg.list_attr:
        said.setdefault(arg.list_attr, [one or FLOAT32 for one in types])
    if arg.number_attr:
        said.setdefault(arg.number_attr, len(types))
    if arg.type_attr and (known := next((one for one in types if one is not None), None)):
        said.setdefault(arg.type_attr, known)


def _attr(value: Any, kind: str) -> Attr:
    """An attribute as graphs hold it: types may be said by name, lists as tuples."""
    if isinstance(value, tuple | list):
        return [_attr(one, kind.removeprefix("list(").removesuffix(")")) for one in value]
    return DType.parse(value) if kind == "type" and isinstance(value, str) else value


def _type_of(value: ArrayLike) -> DType:
    kind = np.asarray(value).dtype
    if isinstance(value, np.ndarray | np.generic) and kind.kind not in "OSU":
        return DType.parse(kind.name)
    return {"b": BOOL, "i": INT32, "u": INT32, "f": FLOAT32}.get(kind.kind, STRING)


def _array(value: ArrayLike, dtype: DType) -> NDArray[Any]:
    if dtype != STRING:
        return np.asarray(value, dtype.numpy)
    given = np.asarray(value, object)
    flat = [one if isinstance(one, bytes) else str(one).encode() for one in given.reshape(-1)]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(given.shape)
