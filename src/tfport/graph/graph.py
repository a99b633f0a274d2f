"""The program: a graph of nodes by name, and the functions with their arguments and returns.

Nodes and values are in `node`. Only methods of these classes change an edge, so
that its two ends stay consistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode_all
from tfport.graph.dtypes import DType
from tfport.graph.node import MOST_OUTPUTS, WHOLE, Node, Value, tensor_index
from tfport.graph.op_signature import OpSignature, OpTable
from tfport.graph.shapes import UNKNOWN, Shape

__all__ = [
    "ARG",
    "CONTROL_RETURN",
    "MISSING",
    "MOST_OUTPUTS",
    "RETURN",
    "Argument",
    "Function",
    "FunctionLibrary",
    "Graph",
    "Node",
    "Value",
]  # fmt: skip

ARG, RETURN, CONTROL_RETURN, MISSING = "_Arg", "_Retval", "_ControlReturn", ""
BRANCHES = ("Switch", "RefSwitch", "_SwitchN", "Enter", "RefEnter")


class Argument(Node):
    """An argument of a function: a node with one output for each tensor passed."""

    __slots__ = ("_arg", "_place", "_signature", "is_list")

    def __init__(self, function: Function, arg: pb.OpDef.ArgDef, place: int) -> None:
        super().__init__(function, arg.name, ARG)
        self._arg = arg
        self._place = place
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

    def output_at(self, arg: str, place: int) -> Value:
        return super().output_at(arg, place) if place == WHOLE else self.output(place)

    def count(self, attrs: Mapping[str, Attr]) -> int | None:
        """The number of tensors in a call with these attributes, if they determine it."""
        return self.signature.output_count(attrs) if self.is_list else 1

    @property
    def declared_outputs(self) -> int | None:
        return super().declared_outputs if self.is_list else 1

    def output_shape(self, index: int) -> Shape:
        function = self.graph
        assert isinstance(function, Function)
        arg_attrs = function.record.arg_attr.get(self._place) if function.record is not None else None
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
        return self.has_any(BRANCHES)

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
        base, _, number = name.partition(":")
        node, index = self.find(base), tensor_index(number or "0")
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
