"""Nodes and the values between them; every edge is known from both ends.

A node knows its inputs, a value its users, and only the methods here change
either, so both stay true. Control edges are kept apart from data: `node.controls`
and `node.control_users`. A node's attributes are decoded when first asked for.
Nothing here knows what an op does; how many outputs it has comes from `OpTable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode, decode_all
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.signature import OpSignature
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from tfport.graph.graph import Graph

MOST_OUTPUTS = 1 << 20
WHOLE = -1
"""As the place in an argument: all its tensors, how many they may be."""


def tensor_index(text: str) -> int | None:
    """The number behind the colon of `node:1`, where it is one that an output can have."""
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
        """`node:1`, as TensorFlow names tensors; `node:*` where it is a list of unknown length."""
        return f"{self.node.name}:{self.index if self.index >= 0 else '*'}"

    @property
    def port(self) -> tuple[str, int] | None:
        """Argument name and place in it, as function bodies name it, where that is known."""
        if self._port is None and (signature := self.node.signature):
            found = signature.port_of(self.index, self.node.counts(signature))
            return (found[0].name, found[1]) if found else None
        return self._port

    @property
    def is_placed(self) -> bool:
        """Whether `index` is true; of an op that nobody has defined a function body tells only names."""
        return self._port is None

    @property
    def dtype(self) -> DType:
        """The type of the elements; INVALID for an op that nobody has defined."""
        signature = self.node.signature
        return signature.output_type(self.index, self.node.attrs) if signature else INVALID

    @property
    def shape(self) -> Shape:
        """The shape as far as the file tells it."""
        return self.node.output_shape(self.index)

    def replace_by(self, other: Value) -> None:
        """Let every user of this value read `other` instead."""
        for user in self.uses:
            user.set_inputs([other if v is self else v for v in user.inputs])

    def _add_use(self, user: Node) -> None:
        if self._users is None:
            self._users = {}
        self._users[user] = self._users.get(user, 0) + 1

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
    """One operation: what it computes is `op` and `attrs`, what it reads `inputs` and `controls`."""

    __slots__ = (
        "_attrs", "_control_users", "_controls", "_inputs", "_outputs", "_ports",
        "device", "graph", "name", "op", "record",
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
        """The NodeDef it was read from: what else that says, debug information say, is written again."""
        self._attrs = attrs
        self._outputs: dict[int, Value] = {}
        self._ports: dict[tuple[str, int], Value] | None = None
        self._inputs: tuple[Value, ...] = ()
        self._controls: tuple[Node, ...] = ()
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
        """One attribute, None where there is none; the others stay as they were read."""
        if self._attrs is not None or self.record is None:
            return self.attrs.get(name)
        return decode(self.record.attr[name]) if name in self.record.attr else None

    @property
    def attrs_are_as_read(self) -> bool:
        """Whether nobody has asked for the attributes, so that the record still has them all."""
        return self._attrs is None

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self._inputs

    @property
    def controls(self) -> tuple[Node, ...]:
        """The nodes that must have run before this one."""
        return self._controls

    @property
    def control_users(self) -> list[Node]:
        """The nodes that wait for this one."""
        return list(self._control_users or ())

    @property
    def users(self) -> list[Node]:
        """Every node that reads an output or waits, each once."""
        found = dict(self._control_users or {})
        for value in self._outputs.values():
            if value._users:
                found.update(dict.fromkeys(value._users))
        return list(found)

    def set_inputs(self, values: Iterable[Value]) -> None:
        old, self._inputs = self._inputs, tuple(values)
        for value in old:
            value._drop_use(self)
        for value in self._inputs:
            value._add_use(self)

    def set_input(self, index: int, value: Value) -> None:
        changed = list(self._inputs)
        changed[index] = value
        self.set_inputs(changed)

    def set_controls(self, nodes: Iterable[Node]) -> None:
        for node in self._controls:
            if node._control_users:
                node._control_users.pop(self, None)
        self._controls = tuple(dict.fromkeys(nodes))
        for node in self._controls:
            if node._control_users is None:
                node._control_users = {}
            node._control_users[self] = None

    def become(self, op: str, attrs: dict[str, Attr]) -> None:
        """Compute something else under the same name, for the same users."""
        self.op, self._attrs, self.record, self._ports = op, attrs, None, None

    def replace_by(self, values: Sequence[Value], waits: Iterable[Node]) -> None:
        """Let readers of each output read `values` instead, and what waits for this node wait for `waits`."""
        read = {output: output.index for output in self.read_outputs}
        if lost := next((output for output in read if not 0 <= output.index < len(values)), None):
            raise MalformedGraph(
                f"`{lost.uses[0].name}` reads `{lost}`; there are {len(values)} values to read instead"
            )
        for user in dict.fromkeys(user for output in read for user in output.uses):
            user.set_inputs([values[read[v]] if v in read else v for v in user.inputs])
        after = list(waits)
        for user in self.control_users:
            user.set_controls([n for c in user.controls for n in (after if c is self else [c])])

    @property
    def read_outputs(self) -> list[Value]:
        """The outputs that something reads, those included of which only the name is known."""
        return [value for value in self._outputs.values() if value._users]

    @property
    def outputs(self) -> list[Value]:
        """Every output that the op declares or that something reads."""
        signature = self.signature
        declared = (signature.output_count(self.counts(signature)) if signature else None) or 0
        count = max(declared, max(self._outputs, default=-1) + 1)
        if count > MOST_OUTPUTS:
            raise MalformedGraph(f"`{self.name}` says that it has {count} outputs")
        return [self.output(i) for i in range(count)]

    def may_have(self, index: int) -> bool:
        """Whether the op declares an output at this place, or does not say how many it has."""
        signature = self.signature
        declared = signature.output_count(self.counts(signature)) if signature else None
        return declared is None or index < declared

    def output(self, index: int) -> Value:
        """The output at a place, made even where the op declares none: another release may have it."""
        value = self._outputs.get(index)
        if value is None:
            value = self._outputs[index] = Value(self, index)
        return value

    def output_at(self, arg: str, place: int) -> Value:
        """The output called `arg:place` in function bodies, made likewise."""
        signature = self.signature
        counts = self.counts(signature)
        index = signature.index_of(arg, place, counts) if signature else None
        if index is not None:
            return self.output(index)
        if self._ports is None:
            self._ports = {}
        value = self._ports.get((arg, place))
        if value is None:  # only the name is known: count on from what the op declares
            declared = (signature.output_count(counts) if signature else None) or 0
            last = next(reversed(self._ports.values()), None)
            before = abs(last.index) if last else max(self._outputs, default=-1)
            index = max(declared, before + 1)
            index = -1 - index if place == WHOLE else index  # no output by itself
            value = self._outputs[index] = self._ports[arg, place] = Value(self, index, (arg, place))
        return value

    @property
    def signature(self) -> OpSignature | None:
        """What the op takes and gives, where somebody has defined it."""
        return self.graph.signature_of(self.op)

    def counts(self, signature: OpSignature | None) -> Mapping[str, Attr]:
        """The attributes that say how many outputs there are: none where each argument is one tensor."""
        return {} if signature is None or signature.flat else self.attrs

    def output_shape(self, index: int) -> Shape:
        told: object = None
        shapes = self.attrs.get("_output_shapes")
        if isinstance(shapes, list) and index < len(shapes):
            told = shapes[index]
        elif self.op == "Const" and isinstance(tensor := self.attrs.get("value"), Tensor):
            told = tensor.shape
        elif self.op in ("Placeholder", "PlaceholderWithDefault"):
            told = self.attrs.get("shape")
        return told if isinstance(told, Shape) else UNKNOWN

    @property
    def is_stateful(self) -> bool:
        """Whether running it can matter or differ beyond its outputs; an unknown op might."""
        signature = self.signature
        return signature is None or signature.stateful

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Node {self.name} = {self.op}>"
