"""Convert GraphDef and FunctionDef to a Graph and back: names become edges.

The main graph refers to a tensor by position, `node:1`; a function body by output
argument, `node:output:1`, or `arg`. `^node` is a control edge. An undefined name
becomes a stand-in in `graph.missing`; any other fault raises MalformedGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import encode_all
from tfport.graph.graph import (
    ARG,
    CONTROL_RETURN,
    MOST_OUTPUTS,
    RETURN,
    WHOLE,
    Argument,
    Function,
    FunctionLibrary,
    Graph,
    Node,
    Value,
    tensor_index,
)
from tfport.graph.op_signature import OpTable


def graph_from_def(record: pb.GraphDef, ops: OpTable) -> Graph:
    """The program in a GraphDef, which must not change afterwards: nodes are decoded on first access."""
    library = FunctionLibrary()
    graph = Graph(ops, library)
    # signatures first, as a function may be called before its definition
    pairs = [(Function(f.signature, ops, library), f) for f in record.library.function]
    for function, _ in pairs:
        if not function.name:
            raise MalformedGraph("a function has no name")
        if function.name in library.functions:
            raise MalformedGraph(f"two functions have the name `{function.name}`")
        library.functions[function.name] = function
    indices: Indices = {}
    for function, body in pairs:
        _fill_function(function, body, indices)
    _fill(graph, record.node, _GraphNames(graph))
    graph.rest.version = record.version
    if record.HasField("versions"):
        graph.rest.versions.CopyFrom(record.versions)
    if record.HasField("debug_info"):
        graph.rest.debug_info.CopyFrom(record.debug_info)
    library.rest.gradient.extend(record.library.gradient)
    library.rest.registered_gradients.extend(record.library.registered_gradients)
    return graph


Resolve: TypeAlias = Callable[[str, list[Value]], None]
"""Adds the values that a name refers to, to a list."""
Indices: TypeAlias = dict[tuple[str, str], int]
"""The index of the output `y:0` of an op, where it is the same for all its nodes."""


def _fill(graph: Graph, records: Iterable[pb.NodeDef], resolve: Resolve) -> None:
    nodes = graph.nodes
    for node, names in graph.add_records(records):
        values: list[Value] = []
        controls: list[Node] = []
        for name in names:
            if name[:1] == "^":
                controls.append(nodes.get(name[1:]) or graph.find_or_stand_in(name[1:]))
            else:
                resolve(name, values)
        if values:
            node.set_inputs(values)
        if controls:
            node.set_controls(controls)


class _GraphNames:
    """Resolves names in the main graph: `node` or `node:1`."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._nodes = graph, graph.nodes

    def __call__(self, name: str, values: list[Value]) -> None:
        # without a number after the colon it is a name, as TensorFlow reads it, which no release accepts
        if (node := self._nodes.get(name)) is not None and tensor_index(name.rpartition(":")[2]) is None:
            values.append(node.output(0))
            return
        base, _, index = name.rpartition(":") if ":" in name else (name, "", "0")
        values.append(self._graph.find_or_stand_in(base).output(_index(index, name)))


def _index(text: str, reference: str) -> int:
    index = tensor_index(text)
    if index is None:
        raise MalformedGraph(f"`{reference}` is not a tensor: expected a number after the last colon")
    return index


def _fill_function(function: Function, record: pb.FunctionDef, indices: Indices) -> None:
    function.record = record
    for index, arg in enumerate(record.signature.input_arg):
        argument = Argument(function, arg, index)
        _check_unique(function.args, argument.name, function)
        function.args[argument.name] = argument
    _fill(function, record.node_def, _BodyNames(function, indices))
    for arg in record.signature.output_arg:
        _check_unique(function.returns, arg.name, function)
        node = function.returns[arg.name] = Node(function, arg.name, RETURN)
        if arg.name in record.ret:
            returned: list[Value] = []
            _BodyNames(function, indices)(record.ret[arg.name], returned)
            node.set_inputs(returned)
    for name, target in sorted(record.control_ret.items()):  # a map of protobuf has no fixed order
        node = function.control_returns[name] = Node(function, name, CONTROL_RETURN)
        node.set_controls([function.find_or_stand_in(target)])


def _check_unique(known: Mapping[str, Node], name: str, function: Function) -> None:
    if name in known:
        raise MalformedGraph(f"two arguments of function `{function.name}` have the name `{name}`")


class _BodyNames:
    """Resolves names in a function body, up to a limit for whole lists."""

    def __init__(self, function: Function, indices: Indices) -> None:
        self.function, self._nodes, self._args = function, function.nodes, function.args
        self._indices = indices
        self._spans: dict[tuple[Node, str], tuple[int, int]] = {}
        """Where the tensors of a list are among the outputs of its node: restoring has thousands."""
        self.left = MOST_OUTPUTS

    def __call__(self, name: str, values: list[Value]) -> None:
        """`arg`, `arg:1`, `node:output:1`, or `node:output` for all tensors of that output."""
        base, _, rest = name.partition(":")
        if (node := self._nodes.get(base)) is not None:
            index = self._indices.get((node.op, rest))
            if index is not None:
                values.append(node.output(index))
                return
        elif not rest and (argument := self._args.get(base)) is not None and not argument.is_list:
            values.append(argument.output(0))
            return
        values += self._resolve(name, base, rest)

    def _resolve(self, name: str, base: str, rest: str) -> list[Value]:
        node = self.function.find_or_stand_in(base)
        if isinstance(node, Argument):
            output, index = base, rest
        else:
            output, _, index = rest.partition(":")
        if not output:  # without an output name: the only output of a node, which may be missing
            return [node.output(0)]
        if span := self._spans.get((node, output)):
            position = _index(index, name) if index else WHOLE
            if 0 <= position < span[1]:
                return [node.output(span[0] + position)]
        signature = node.signature
        if index:
            value = node.output_at(output, _index(index, name))
            if signature is not None and value.is_placed and node.op != ARG:
                if signature.flat:
                    self._indices[node.op, rest] = value.index
                else:
                    self._spans[node, output] = signature.span_of(output, node.attrs)
            return [value]
        length = signature.length_of(output, node.counts(signature)) if signature else None
        if length is None:
            return [node.output_at(output, WHOLE)]
        self.left -= length
        if self.left < 0:
            raise MalformedGraph(
                f"`{name}` in function `{self.function.name}` refers to {length} tensors, too many"
            )
        return [node.output_at(output, i) for i in range(length)]


def graph_to_def(graph: Graph) -> pb.GraphDef:
    """A program as a GraphDef."""
    record = pb.GraphDef()
    write_rest(graph, record)
    for node in graph:
        write_node(node, record.node.add())
    return record


def write_node(node: Node, record: pb.NodeDef, *, without: str = "") -> None:
    """Write a node of the main graph, `without` one of its attributes if that is named."""
    _write_node(node, record, _position, without)


def write_rest(graph: Graph, record: pb.GraphDef) -> None:
    """Write all but the nodes into a GraphDef, whose content is replaced."""
    record.CopyFrom(graph.rest)
    if graph.library.rest.ListFields():
        record.library.CopyFrom(graph.library.rest)
    for function in graph.library.functions.values():
        _write_function(function, record.library.function.add())


def _write_node(node: Node, record: pb.NodeDef, name_of: Callable[[Value], str], without: str = "") -> None:
    if node.record is not None:
        record.CopyFrom(node.record)
        record.ClearField("input")
    record.name, record.op, record.device = node.name, node.op, node.device
    if node.inputs:
        record.input.extend(map(name_of, node.inputs))
    if node.controls:
        record.input.extend(f"^{control.name}" for control in node.controls)
    if not node.attrs_are_as_read:
        record.ClearField("attr")
        attrs = {k: v for k, v in node.attrs.items() if k != without} if without else node.attrs
        encode_all(attrs, record.attr)


def _position(value: Value) -> str:
    return f"{value.node.name}:{value.index}" if value.index else value.node.name


def _argument(value: Value) -> str:
    node, port = value.node, value.port
    if isinstance(node, Argument):
        return f"{node.name}:{value.index}" if node.is_list and value.is_placed else node.name
    if port is not None:
        return f"{node.name}:{port[0]}" + (f":{port[1]}" if port[1] != WHOLE else "")
    if value.is_placed and value.index == 0:  # as in the file; its meaning is unknown
        return node.name
    raise MalformedGraph(f"output {value.index} of `{node.name}` has no name: {node.op} does not declare it")


def _write_function(function: Function, record: pb.FunctionDef) -> None:
    if function.record is not None:
        for index, attrs in function.record.arg_attr.items():
            record.arg_attr[index].CopyFrom(attrs)
        for index, unique in function.record.resource_arg_unique_id.items():
            record.resource_arg_unique_id[index] = unique
    record.signature.CopyFrom(function.definition)
    encode_all(function.attrs, record.attr)
    for node in function:
        _write_node(node, record.node_def.add(), _argument)
    for name, node in function.returns.items():
        if node.inputs:
            record.ret[name] = _returned(node)
    for name, node in function.control_returns.items():
        for index, waited in enumerate(node.controls):  # an edit may have replaced one node by several
            key = f"{name}_{index}" if index else name
            record.control_ret[key] = waited.name
            if key not in record.signature.control_output:
                record.signature.control_output.append(key)


def _returned(node: Node) -> str:
    """The name of what a return reads; a list must be the whole of another list."""
    names = [_argument(value) for value in node.inputs]
    if len(names) == 1:
        return names[0]
    base = names[0].rpartition(":")[0]
    if names != [f"{base}:{i}" for i in range(len(names))]:
        raise MalformedGraph(
            f"return `{node.name}` returns {', '.join(names)}; a function can only return a whole list"
        )
    return base
