"""Nodes and the values between them, with edges in both directions.

A node has its inputs, a value its users. Only the methods here change either, so
that both stay consistent. Control edges are separate: `node.controls` and
`node.control_users`. Attributes are decoded on first access.
Nothing here knows what an op does; the number of its outputs comes from `OpTable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode, decode_all
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.op_signature import OpSignature
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from tfport.graph.graph import Graph

MOST_OUTPUTS = 1 << 20
LAST_WITHOUT_UNKNOWN_RANK = 21
"""Up to this GraphDef version, a placeholder with the shape of a scalar has any shape."""
WHOLE = -1
"""As an index within an argument: all tensors of the argument."""


def tensor_index(text: str) -> int | None:
    """The number after the colon of `node:1`, if it is a valid output index."""
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        return None
    index = int(text)
    return index if index < MOST_OUTPUTS else None


class Value:
    """One output of a node."""

    __slots__ = ("_port", "_users", "index", "node")

    def __init__(self, node: Node, index: int, port: tuple[str, int] | None = None) -> None:
        self.node = node
        self.index = index
        self._port = port
        self._users: dict[Node, int] | None = None

    @property
    def uses(self) -> list[Node]:
        """The nodes that read this value."""
        return list(self._users or ())

    @property
    def name(self) -> str:
        """`node:1`, as in TensorFlow; `node:*` for a list of unknown length."""
        return f"{self.node.name}:{self.index if self.index >= 0 else '*'}"

    @property
    def port(self) -> tuple[str, int] | None:
        """The output argument and the index within it, as function bodies use them, if known."""
        if self._port is None and (signature := self.node.signature):
            port = signature.port_of(self.index, self.node.counts(signature))
            return (port[0].name, port[1]) if port else None
        return self._port

    @property
    def is_placed(self) -> bool:
        """Whether `index` is known; for an undefined op, a function body has only names of outputs."""
        return self._port is None

    @property
    def dtype(self) -> DType:
        """The element type; INVALID for an undefined op."""
        signature = self.node.signature
        return signature.output_type(self.index, self.node.attrs) if signature else INVALID

    @property
    def shape(self) -> Shape:
        """The shape that the file states."""
        return self.node.output_shape(self.index)

    def replace_by(self, other: Value) -> None:
        """Make every user of this value read `other` instead."""
        for user in self.uses:
            user.set_inputs([other if v is self else v for v in user.inputs])

    def _drop_use(self, user: Node) -> None:
        assert self._users is not None
        self._users[user] -= 1
        if not self._users[user]:
            del self._users[user]

    def __str__(self) -> str:
        return self.name if self.index else self.node.name

    def __repr__(self) -> str:
        return f"<Value {self}>"


class Node:
    """An operation: `op` and `attrs` say what it computes, `inputs` and `controls` what it reads."""

    __slots__ = (
        "_attrs", "_control_users", "_outputs", "_ports",
        "controls", "device", "graph", "inputs", "name", "op", "record",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        attrs: dict[str, Attr] | None = None,
        device: str = "",
        record: pb.NodeDef | None = None,
    ) -> None:
        self.graph = graph
        self.name = name
        self.op = op
        self.device = device
        self.record = record
        """The NodeDef it was read from; its other fields, such as debug information, are written again."""
        self._attrs = attrs
        self._outputs: dict[int, Value] = {}
        self._ports: dict[tuple[str, int], Value] | None = None
        self.inputs: tuple[Value, ...] = ()
        """The values that it reads; `set_inputs` changes them."""
        self.controls: tuple[Node, ...] = ()
        """The nodes that must have run before this one; `set_controls` changes them."""
        self._control_users: dict[Node, None] | None = None

    @property
    def attrs(self) -> dict[str, Attr]:
        if self._attrs is None:
            try:
                self._attrs = decode_all(self.record.attr) if self.record is not None else {}
            except MalformedGraph as error:
                raise MalformedGraph(f"node `{self.name}`: {error}") from None
        return self._attrs

    def attr(self, name: str) -> Attr:
        """An attribute, or None; does not decode the others."""
        if self._attrs is not None or self.record is None:
            return self.attrs.get(name)
        attrs = self.record.attr  # once: reading the field takes longer than looking up a name
        return decode(attrs[name]) if name in attrs else None

    @property
    def attrs_are_as_read(self) -> bool:
        """Whether the attributes were never accessed, so that the record still has them."""
        return self._attrs is None

    @property
    def attrs_as_read(self) -> Mapping[str, pb.AttrValue] | None:
        """The attributes in the record, if it still has them: faster than decoding all."""
        return self.record.attr if self._attrs is None and self.record is not None else None

    @property
    def control_users(self) -> list[Node]:
        """The nodes that wait for this one."""
        return list(self._control_users or ())

    @property
    def users(self) -> list[Node]:
        """All nodes that read an output or wait for this node, each once."""
        users = dict(self._control_users or {})
        for value in self._outputs.values():
            if value._users:
                users.update(dict.fromkeys(value._users))
        return list(users)

    def set_inputs(self, values: Iterable[Value]) -> None:
        old, self.inputs = self.inputs, tuple(values)
        for value in old:
            value._drop_use(self)
        for value in self.inputs:
            users = value._users
            if users is None:
                value._users = {self: 1}
            else:
                users[self] = users.get(self, 0) + 1

    def set_input(self, index: int, value: Value) -> None:
        changed = list(self.inputs)
        changed[index] = value
        self.set_inputs(changed)

    def set_controls(self, nodes: Iterable[Node]) -> None:
        for node in self.controls:
            if node._control_users:
                node._control_users.pop(self, None)
        self.controls = tuple(dict.fromkeys(nodes))
        for node in self.controls:
            if node._control_users is None:
                node._control_users = {self: None}
            else:
                node._control_users[self] = None

    def _add_control_user(self, user: Node) -> None:
        if self._control_users is None:
            self._control_users = {}
        self._control_users[user] = None

    def become(self, op: str, attrs: dict[str, Attr]) -> None:
        """Change the op and attributes; the name and the users stay."""
        self.op, self._attrs, self.record, self._ports = op, attrs, None, None

    def replace_by(self, values: Sequence[Value], waits: Iterable[Node]) -> None:
        """Make users of the outputs read `values` instead, and nodes that wait for this one `waits`."""
        read = {output: output.index for output in self.read_outputs}
        if lost := next((output for output in read if not 0 <= output.index < len(values)), None):
            raise MalformedGraph(
                f"`{lost.uses[0].name}` reads `{lost}`, but there are only {len(values)} replacements"
            )
        for user in dict.fromkeys(user for output in read for user in output.uses):
            user.set_inputs([values[read[v]] if v in read else v for v in user.inputs])
        after = list(dict.fromkeys(waits))
        for user in self.control_users:
            user._wait_instead(self, after)

    def _wait_instead(self, node: Node, others: Sequence[Node]) -> None:
        """Wait for other nodes instead of this one; fast also where a node waits for thousands."""
        place = self.controls.index(node)
        (node._control_users or {}).pop(self)
        new = [n for n in others if self not in (n._control_users or ())]
        self.controls = (*self.controls[:place], *new, *self.controls[place + 1 :])
        for other in new:
            other._add_control_user(self)

    @property
    def read_outputs(self) -> list[Value]:
        """The outputs with users, including those of which only the name is known."""
        return [value for value in self._outputs.values() if value._users]

    @property
    def outputs(self) -> list[Value]:
        """All outputs that the op declares or that have users."""
        count = max(self.declared_outputs or 0, max(self._outputs, default=-1) + 1)
        if count > MOST_OUTPUTS:
            raise MalformedGraph(f"`{self.name}` has {count} outputs, more than {MOST_OUTPUTS}")
        return [self.output(i) for i in range(count)]

    def may_have(self, index: int) -> bool:
        """Whether the op declares an output with this index, or its number of outputs is unknown."""
        declared = self.declared_outputs
        return declared is None or index < declared

    @property
    def declared_outputs(self) -> int | None:
        """The number of outputs that the op declares; None if it is unknown."""
        signature = self.signature
        return signature.output_count(self.counts(signature)) if signature else None

    def output(self, index: int) -> Value:
        """The output with this index, created even if the op does not declare it: another release may."""
        value = self._outputs.get(index)
        if value is None:
            value = self._outputs[index] = Value(self, index)
        return value

    def output_at(self, arg: str, place: int) -> Value:
        """The output with the name `arg:place` in function bodies, created in the same way."""
        signature = self.signature
        counts = self.counts(signature)
        index = signature.index_of(arg, place, counts) if signature else None
        if index is not None:
            return self.output(index)
        if self._ports is None:
            self._ports = {}
        value = self._ports.get((arg, place))
        if value is None:  # only the name is known: use the next free index
            declared = (signature.output_count(counts) if signature else None) or 0
            last = next(reversed(self._ports.values()), None)
            before = abs(last.index) if last else max(self._outputs, default=-1)
            index = max(declared, before + 1)
            index = -1 - index if place == WHOLE else index  # not an output itself
            value = self._outputs[index] = self._ports[arg, place] = Value(self, index, (arg, place))
        return value

    @property
    def signature(self) -> OpSignature | None:
        """The inputs and outputs of the op, if it is defined."""
        return self.graph.signature_of(self.op)

    def counts(self, signature: OpSignature | None) -> Mapping[str, Attr]:
        """The attributes that affect the number of outputs; empty if each output argument is one tensor."""
        return {} if signature is None or signature.flat else self.attrs

    def output_shape(self, index: int) -> Shape:
        shape: object = None
        shapes = self.attrs.get("_output_shapes")
        if isinstance(shapes, list) and index < len(shapes):
            shape = shapes[index]
        elif self.op == "Const" and isinstance(tensor := self.attrs.get("value"), Tensor):
            shape = tensor.shape
        elif self.op in ("Placeholder", "PlaceholderWithDefault"):
            shape = self.attrs.get("shape")
            if shape == Shape(()) and 0 < self.graph.rest.versions.producer <= LAST_WITHOUT_UNKNOWN_RANK:
                return UNKNOWN
        elif (stated := self.graph.stated_shapes) and (value := self._outputs.get(index)) is not None:
            shape = stated.get(value)
        return shape if isinstance(shape, Shape) else UNKNOWN

    @property
    def is_stateful(self) -> bool:
        """Whether it may have side effects or state; True for an unknown op."""
        signature = self.signature
        return signature is None or signature.stateful

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Node {self.name} = {self.op}>"
