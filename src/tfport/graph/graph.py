"""The program: nodes and the values between them, graphs of nodes by name, and functions.

A node has its inputs, a value its users. Only the methods here change either, so that both stay consistent.
Control edges are separate: `node.controls` and `node.control_users`. Attributes are decoded on first access.
Nothing here knows what an op does; the number of its outputs comes from `OpTable`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode, decode_all
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.op_facts.kinds import ALL_SWITCHES, ENTERS
from tfport.graph.op_signature import OpSignature, OpTable
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor

ARG, RETURN, CONTROL_RETURN, MISSING = "_Arg", "_Retval", "_ControlReturn", ""
IDENTITY = ("Identity",)
MOST_OUTPUTS = 1 << 20
MOST_PASSED_ON = 1_000
"""How many nodes after each other are followed that only pass a value on."""
LAST_WITHOUT_UNKNOWN_RANK = 21
"""Up to this GraphDef version, a placeholder with the shape of a scalar has any shape."""
WHOLE = -1
"""As an index within an argument: all tensors of the argument."""


def tensor_parts(name: str) -> tuple[str, int | None]:
    """The node and the index in `node` or `node:1`; a colon without a number belongs to the name."""
    node, colon, number = name.rpartition(":")
    if not colon or not number.isdecimal():
        return name, 0
    return node, tensor_index(number)


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

    def source(
        self, through: Container[str] = IDENTITY, passed: Mapping[Value, Value] = MappingProxyType({})
    ) -> Value:
        """The value that nodes of some ops pass on: their first input; `passed` has that of each argument."""
        value = self
        for _ in range(MOST_PASSED_ON):
            if value in passed:
                value = passed[value]
            elif value.node.op in through and value.node.inputs:
                value = value.node.inputs[0]
            else:
                break
        return value

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

    def become_identity(self, dtypes: Sequence[DType], attrs: Mapping[str, Attr] | None = None) -> None:
        """Change it to an op that passes on its inputs, which have these types; to NoOp if there are none."""
        op = ("NoOp", "Identity", "IdentityN")[min(len(dtypes), 2)]
        self.become(op, {"T": [*dtypes] if len(dtypes) > 1 else dtypes[0], **(attrs or {})} if dtypes else {})

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
        index = self.controls.index(node)
        (node._control_users or {}).pop(self)
        new = [n for n in others if self not in (n._control_users or ())]
        self.controls = (*self.controls[:index], *new, *self.controls[index + 1 :])
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

    def output_at(self, arg: str, position: int) -> Value:
        """The output with the name `arg:position` in function bodies, created in the same way."""
        signature = self.signature
        counts = self.counts(signature)
        index = signature.index_of(arg, position, counts) if signature else None
        if index is not None:
            return self.output(index)
        if self._ports is None:
            self._ports = {}
        value = self._ports.get((arg, position))
        if value is None:  # only the name is known: use the next free index
            declared = (signature.output_count(counts) if signature else None) or 0
            last = next(reversed(self._ports.values()), None)
            before = abs(last.index) if last else max(self._outputs, default=-1)
            index = max(declared, before + 1)
            index = -1 - index if position == WHOLE else index  # not an output itself
            value = self._outputs[index] = self._ports[arg, position] = Value(self, index, (arg, position))
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


class Argument(Node):
    """An argument of a function: a node with one output for each tensor passed."""

    __slots__ = ("_arg", "_index", "_signature", "is_list")

    def __init__(self, function: Function, arg: pb.OpDef.ArgDef, index: int) -> None:
        super().__init__(function, arg.name, ARG)
        self._arg = arg
        self._index = index
        self._signature: OpSignature | None = None
        self.is_list = bool(arg.number_attr or arg.type_list_attr)

    @property
    def attrs(self) -> dict[str, Attr]:
        """Those of the function."""
        assert isinstance(self.graph, Function)
        return self.graph.attrs

    @property
    def signature(self) -> OpSignature:
        if self._signature is None:  # created on demand: a function that saves has thousands of arguments
            self._signature = OpSignature(pb.OpDef(name=ARG, output_arg=[self._arg]))
        return self._signature

    @property
    def plain_type(self) -> int:
        """The number of the element type; 0 if an attribute decides it. Does not create a signature."""
        arg = self._arg
        return DType.of(arg.type).ref.number if arg.is_ref and arg.type else arg.type

    def output_at(self, arg: str, position: int) -> Value:
        return super().output_at(arg, position) if position == WHOLE else self.output(position)

    def count(self, attrs: Mapping[str, Attr]) -> int | None:
        """The number of tensors in a call with these attributes, if they determine it."""
        return self.signature.output_count(attrs) if self.is_list else 1

    @property
    def declared_outputs(self) -> int | None:
        return super().declared_outputs if self.is_list else 1

    def output_shape(self, index: int) -> Shape:
        function = self.graph
        assert isinstance(function, Function)
        arg_attrs = function.record.arg_attr.get(self._index) if function.record is not None else None
        shapes = (
            arg_attrs.attr["_output_shapes"].list.shape
            if arg_attrs and "_output_shapes" in arg_attrs.attr
            else ()
        )
        return Shape.from_proto(shapes[index]) if index < len(shapes) else UNKNOWN


class Graph:
    """Nodes by name, in the order of the file."""

    def __init__(self, ops: OpTable, library: FunctionLibrary | None = None) -> None:
        self.ops = ops
        self.library = library if library is not None else FunctionLibrary()
        self.nodes: dict[str, Node] = {}
        self.args: dict[str, Argument] = {}
        """The arguments of a function; a main graph has none."""
        self._stand_ins: dict[str, Node] = {}
        self._numbered: dict[str, int] = {}
        self._ops: set[str] = set()
        self.stated_shapes: dict[Value, Shape] = {}
        """Shapes that a file states outside of the graph, as TensorFlow Lite files do."""
        self.rest = pb.GraphDef()
        """Other fields of the GraphDef: versions, debug information."""

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    @property
    def has_branches(self) -> bool:
        """Whether it has, or had, TF1 control flow: nodes that run in one branch or in each iteration."""
        return self.has_any((*ALL_SWITCHES, *ENTERS))

    def has_any(self, ops: Iterable[str]) -> bool:
        """Whether it has, or had, a node of one of these ops."""
        return not self._ops.isdisjoint(ops)

    @property
    def missing(self) -> dict[str, Node]:
        """Stand-ins, with op `""`, for nodes that are used but not defined."""
        return {name: node for name, node in self._stand_ins.items() if node.users}

    @property
    def ends(self) -> list[Node]:
        """The return nodes of a function; a main graph has none."""
        return []

    def signature_of(self, op: str) -> OpSignature | None:
        return self.library.signature_of(op) or self.ops.get(op)

    def find(self, name: str) -> Node | None:
        """The node with this name; in a function also an argument."""
        return self.nodes.get(name)

    def find_or_stand_in(self, name: str) -> Node:
        """The node with this name, or a stand-in if it is missing."""
        node = self.find(name) or self._stand_ins.get(name)
        if node is None:
            node = self._stand_ins[name] = Node(self, name, MISSING)
        return node

    def value(self, name: str) -> Value:
        """The value with the name `node` or `node:1`; MalformedGraph if there is none."""
        base, index = tensor_parts(name)
        node = self.find(base)
        if node is None or index is None:
            raise MalformedGraph(f"there is no tensor `{name}` in the graph")
        return node.output(index)

    def add(
        self,
        op: str,
        inputs: Iterable[Value] = (),
        attrs: Mapping[str, Attr] | None = None,
        *,
        name: str | None = None,
        controls: Iterable[Node] = (),
        device: str = "",
    ) -> Node:
        """Add a node; without a name, or if the name is taken, it gets a free one."""
        node = self.new_node(self.free_name(name or op), op, dict(attrs or {}), device)
        node.set_inputs(inputs)
        node.set_controls(controls)
        return node

    def new_node(
        self,
        name: str,
        op: str,
        attrs: dict[str, Attr] | None = None,
        device: str = "",
        record: pb.NodeDef | None = None,
    ) -> Node:
        """Add a node without inputs; the name must be free. Without `attrs` it has those of the record."""
        if self.find(name) is not None:
            raise MalformedGraph(f"two nodes have the name `{name}`")
        node = self.nodes[name] = Node(self, name, op, attrs, device, record)
        self._ops.add(op)
        return node

    def add_records(self, records: Iterable[pb.NodeDef]) -> list[tuple[Node, Sequence[str]]]:
        """Add the nodes of a file, without inputs; return each with the names of its inputs."""
        nodes, arguments = self.nodes, self.args
        added: list[tuple[Node, Sequence[str]]] = []
        ops: dict[str, str] = {}  # one string for each op: those of the records are all new
        for record in records:
            name, op = record.name, record.op
            if name in nodes or name in arguments:
                raise MalformedGraph(f"two nodes have the name `{name}`")
            node = nodes[name] = Node(self, name, ops.setdefault(op, op), None, record.device, record)
            added.append((node, record.input[:]))  # a list is faster to read than the field
        self._ops.update(ops)
        return added

    def free_name(self, base: str) -> str:
        """`base`, or `base_1` and so on if it is taken."""
        name, n = base, self._numbered.get(base, 0)
        while self.find(name) is not None or name in self._stand_ins:
            n += 1
            name = f"{base}_{n}"
        self._numbered[base] = n
        return name

    def remove(self, node: Node) -> None:
        """Remove a node without users."""
        if users := node.users:
            raise MalformedGraph(f"`{node.name}` cannot be removed: `{users[0].name}` uses it")
        node.set_inputs(())
        node.set_controls(())
        del self.nodes[node.name]

    def prune(self, keep: Iterable[Node]) -> list[Node]:
        """Remove all nodes outside `keep`, which must not use them; return the removed nodes."""
        kept = set(keep)
        removed = [node for node in self if node not in kept]
        removing = set(removed)
        for node in removed:
            if user := next((u for u in node.users if u not in removing), None):
                raise MalformedGraph(f"`{node.name}` cannot be removed: `{user.name}` uses it")
        for node in removed:
            node.set_inputs(())
            node.set_controls(())
            del self.nodes[node.name]
        return removed


class FunctionLibrary:
    """The functions of a program, and their gradients."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.rest = pb.FunctionDefLibrary()
        """Other fields of the FunctionDefLibrary: gradients by function name."""

    def signature_of(self, op: str) -> OpSignature | None:
        function = self.functions.get(op)
        return function.signature if function is not None else None


class Function(Graph):
    """A function: a graph with arguments and returns.

    An argument is a node `_Arg` whose outputs are the tensors passed; a return is a
    node `_Retval` that reads the result; a control return waits for the node that must
    run. They are not in `nodes`, which has the nodes of the file only.
    """

    def __init__(self, definition: pb.OpDef, ops: OpTable, library: FunctionLibrary) -> None:
        super().__init__(ops, library)
        self.definition = definition
        self.returns: dict[str, Node] = {}
        self.control_returns: dict[str, Node] = {}
        self.record: pb.FunctionDef | None = None
        """The FunctionDef it was read from; its attributes of arguments and identities of resources are
        written again."""

    @cached_property
    def attrs(self) -> dict[str, Attr]:
        """Decoded on first access: `_input_shapes` has a shape for each argument."""
        try:
            return decode_all(self.record.attr) if self.record is not None else {}
        except MalformedGraph as error:
            raise MalformedGraph(f"function `{self.name}`: {error}") from None

    @cached_property
    def signature(self) -> OpSignature:
        return OpSignature(self.definition)

    @property
    def name(self) -> str:
        return self.definition.name

    def find(self, name: str) -> Node | None:
        return self.nodes.get(name) or self.args.get(name)

    @property
    def arguments(self) -> list[Value]:
        """The tensors passed, in order."""
        return [value for node in self.args.values() for value in node.outputs]

    @property
    def results(self) -> list[Value]:
        """The tensors returned, in order."""
        return [value for node in self.returns.values() for value in node.inputs]

    @property
    def ends(self) -> list[Node]:
        return [*self.returns.values(), *self.control_returns.values()]

    def __repr__(self) -> str:
        return f"<Function {self.name}: {len(self.nodes)} nodes>"
