"""The program: nodes, the values between them, and the functions they call.

Every edge is known from both ends. A node knows its inputs, a value its users,
and only the methods here change either, so both stay true. Control edges are
kept apart from data: `node.controls` and `node.control_users`.
Nothing here knows what an op does; how many outputs it has comes from `OpTable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.signature import OpSignature, OpTable
from tfport.graph.tensors import Tensor

ARG, RETURN, CONTROL_RETURN, MISSING = "_Arg", "_Retval", "_ControlReturn", ""
MOST_OUTPUTS = 1 << 20


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 8


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
        """`node:1`, as TensorFlow names tensors."""
        return f"{self.node.name}:{self.index}"

    @property
    def port(self) -> tuple[str, int] | None:
        """Argument name and place in it, as function bodies name it, where that is known."""
        if self._port is None and (signature := self.node.signature):
            found = signature.port_of(self.index, self.node.attrs)
            return (found[0].name, found[1]) if found else None
        return self._port

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
        "_control_users", "_controls", "_inputs", "_outputs", "_ports",
        "attrs", "device", "graph", "name", "op", "rest",
    )  # fmt: skip

    def __init__(self, graph: Graph, name: str, op: str, attrs: dict[str, Attr], device: str = "") -> None:
        self.graph = graph
        self.name = name
        self.op = op
        self.attrs = attrs
        self.device = device
        self._outputs: dict[int, Value] = {}
        self._ports: dict[tuple[str, int], Value] = {}
        self.rest: pb.NodeDef | None = None
        """What else the file says of the node: debug information, full types."""
        self._inputs: tuple[Value, ...] = ()
        self._controls: tuple[Node, ...] = ()
        self._control_users: dict[Node, None] | None = None

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
        return list(dict.fromkeys([u for v in self._outputs.values() for u in v.uses] + self.control_users))

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

    def replace_by(self, values: Sequence[Value], waits: Iterable[Node]) -> None:
        """Let readers of each output read `values` instead, and what waits for this node wait for `waits`."""
        for index, output in self._outputs.items():
            output.replace_by(values[index])
        after = list(waits)
        for user in self.control_users:
            user.set_controls([n for c in user.controls for n in (after if c is self else [c])])

    @property
    def outputs(self) -> list[Value]:
        """Every output that the op declares or that something reads."""
        signature = self.signature
        declared = (signature.output_count(self.attrs) if signature else None) or 0
        if declared > MOST_OUTPUTS:
            raise MalformedGraph(f"`{self.name}` says that it has {declared} outputs")
        return [self.output(i) for i in range(max(declared, max(self._outputs, default=-1) + 1))]

    def output(self, index: int) -> Value:
        """The output at a place, made even where the op declares none: another release may have it."""
        value = self._outputs.get(index)
        if value is None:
            value = self._outputs[index] = Value(self, index)
        return value

    def output_at(self, arg: str, place: int) -> Value:
        """The output called `arg:place` in function bodies, made likewise."""
        signature = self.signature
        index = signature.index_of(arg, place, self.attrs) if signature else None
        if index is not None:
            return self.output(index)
        value = self._ports.get((arg, place))
        if value is None:  # only the name is known: count on from what the op declares
            index = (
                max(self._outputs, default=-1) + 1 if not self._ports else next(reversed(self._outputs)) + 1
            )
            value = self._outputs[index] = self._ports[arg, place] = Value(self, index, (arg, place))
        return value

    @property
    def signature(self) -> OpSignature | None:
        """What the op takes and gives, where somebody has defined it."""
        return self.graph.signature_of(self.op)

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


class Argument(Node):
    """What a function is passed for one of its arguments: one output for each tensor."""

    __slots__ = ("_signature",)

    def __init__(self, function: Function, arg: pb.OpDef.ArgDef) -> None:
        super().__init__(function, arg.name, ARG, function.attrs)
        self._signature = OpSignature(pb.OpDef(name=ARG, output_arg=[arg]))

    @property
    def signature(self) -> OpSignature:
        return self._signature

    @property
    def is_list(self) -> bool:
        return self._signature.outputs[0].is_list

    def output_shape(self, index: int) -> Shape:
        function = self.graph
        assert isinstance(function, Function)
        told = function.function_rest.arg_attr.get(list(function.args).index(self.name))
        shapes = told.attr["_output_shapes"].list.shape if told and "_output_shapes" in told.attr else ()
        return Shape.from_proto(shapes[index]) if index < len(shapes) else UNKNOWN


class Graph:
    """Nodes by name, in the order of the file."""

    def __init__(self, ops: OpTable, library: Library | None = None) -> None:
        self.ops = ops
        self.library = library if library is not None else Library()
        self.nodes: dict[str, Node] = {}
        self.missing: dict[str, Node] = {}
        """Stand-ins, with op `""`, for nodes that are read and that nobody defines."""
        self.rest = pb.GraphDef()
        """What else the file says of the graph: versions, debug information."""

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    @property
    def ends(self) -> list[Node]:
        """What a function returns, as nodes that read it; a main graph has none."""
        return []

    def signature_of(self, op: str) -> OpSignature | None:
        return self.library.signature_of(op) or self.ops.get(op)

    def find(self, name: str) -> Node | None:
        """The node, or in a function the argument, of this name."""
        return self.nodes.get(name)

    def value(self, name: str) -> Value:
        """The value called `node` or `node:1`; MalformedGraph if there is none."""
        node_name, _, index = name.partition(":")
        node = self.find(node_name)
        if node is None or not _is_index(index or "0"):
            raise MalformedGraph(f"there is no tensor `{name}` in the graph")
        return node.output(int(index or 0))

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
        """A new node; a name that is taken, or none, becomes one that is free."""
        node = self.new_node(self.free_name(name or op), op, dict(attrs or {}), device)
        node.set_inputs(inputs)
        node.set_controls(controls)
        return node

    def new_node(self, name: str, op: str, attrs: dict[str, Attr], device: str = "") -> Node:
        """A node that reads nothing yet, under a name that is free."""
        if name in self.nodes:
            raise MalformedGraph(f"two nodes are called `{name}`")
        node = self.nodes[name] = Node(self, name, op, attrs, device)
        return node

    def free_name(self, base: str) -> str:
        """`base`, or `base_1` and so on where that is taken."""
        name, n = base, 0
        while name in self.nodes or name in self.missing:
            n += 1
            name = f"{base}_{n}"
        return name

    def remove(self, node: Node) -> None:
        """Take out a node that nothing reads or waits for."""
        if users := node.users:
            raise MalformedGraph(f"`{node.name}` cannot be removed: `{users[0].name}` uses it")
        node.set_inputs(())
        node.set_controls(())
        del self.nodes[node.name]

    def prune(self, keep: Iterable[Node]) -> list[Node]:
        """Remove every node outside `keep`, which must need nothing outside itself; return what went."""
        kept = set(keep)
        gone = [node for node in self if node not in kept]
        for node in gone:
            node.set_inputs(())
            node.set_controls(())
        for node in gone:
            self.remove(node)
        return gone


class Library:
    """The functions that a program defines, and which of them are gradients of which."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.rest = pb.FunctionDefLibrary()
        """Gradients by function name, as the file has them."""

    def signature_of(self, op: str) -> OpSignature | None:
        function = self.functions.get(op)
        return function.signature if function is not None else None


class Function(Graph):
    """A function: a graph with arguments and returns.

    An argument is a node `_Arg` whose outputs are the tensors passed; a return is
    a node `_Retval` that reads what is returned; a control return waits for the
    node that must run. None of them is among `nodes`, so those are what the file has.
    """

    def __init__(self, definition: pb.OpDef, ops: OpTable, library: Library) -> None:
        super().__init__(ops, library)
        self.definition = definition
        self.signature = OpSignature(definition)
        self.args: dict[str, Argument] = {}
        self.returns: dict[str, Node] = {}
        self.control_returns: dict[str, Node] = {}
        self.attrs: dict[str, Attr] = {}
        self.function_rest = pb.FunctionDef()
        """What else the file says of the function: attributes of arguments, resource identities."""

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
