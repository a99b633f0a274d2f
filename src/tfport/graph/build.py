"""Records to Graph and back: GraphDef and FunctionDef with their names turned into edges.

The main graph names a tensor by position, `node:1`; a function body by argument,
`node:output:1`, or `arg`. `^node` is a control edge. A name that nobody defines
becomes a stand-in in `graph.missing`; what makes no graph at all is MalformedGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import decode_all, encode_all
from tfport.graph.graph import (
    CONTROL_RETURN,
    MISSING,
    MOST_OUTPUTS,
    RETURN,
    Argument,
    Function,
    Graph,
    Library,
    Node,
    Value,
)
from tfport.graph.signature import OpTable


def graph_from_def(record: pb.GraphDef, ops: OpTable) -> Graph:
    """The program that a GraphDef describes."""
    library = Library()
    graph = Graph(ops, library)
    # signatures first: a function may be called before it is defined
    pairs = [(Function(f.signature, ops, library), f) for f in record.library.function]
    for function, _ in pairs:
        if function.name in library.functions:
            raise MalformedGraph(f"two functions are called `{function.name}`")
        library.functions[function.name] = function
    for function, body in pairs:
        _fill_function(function, body)
    _fill(graph, record.node, lambda name: [_by_position(graph, name)])
    graph.rest.versions.CopyFrom(record.versions)
    graph.rest.version = record.version
    if record.HasField("debug_info"):
        graph.rest.debug_info.CopyFrom(record.debug_info)
    library.rest.gradient.extend(record.library.gradient)
    library.rest.registered_gradients.extend(record.library.registered_gradients)
    return graph


def _fill(graph: Graph, records: Iterable[pb.NodeDef], resolve: Callable[[str], list[Value]]) -> None:
    pairs = []
    for record in records:
        node = graph.new_node(record.name, record.op, decode_all(record.attr), record.device)
        node.rest = _rest(record)
        pairs.append((node, record.input))
    for node, names in pairs:
        if names:
            _connect(graph, node, names, resolve)


def _rest(record: pb.NodeDef) -> pb.NodeDef | None:
    rest = None
    for field in ("experimental_debug_info", "experimental_type"):
        if record.HasField(field):
            rest = rest or pb.NodeDef()
            getattr(rest, field).CopyFrom(getattr(record, field))
    return rest


def _connect(graph: Graph, node: Node, names: Iterable[str], resolve: Callable[[str], list[Value]]) -> None:
    values: list[Value] = []
    controls: list[Node] = []
    for name in names:
        if name.startswith("^"):
            controls.append(_node(graph, name[1:]))
        else:
            values += resolve(name)
    node.set_inputs(values)
    if controls:
        node.set_controls(controls)


def _node(graph: Graph, name: str) -> Node:
    found = graph.find(name) or graph.missing.get(name)
    if found is None:
        found = graph.missing[name] = Node(graph, name, MISSING, {})
    return found


def _by_position(graph: Graph, name: str) -> Value:
    """`node` or `node:1`."""
    base, colon, index = name.rpartition(":")
    if not colon:
        return _node(graph, name).output(0)
    return _node(graph, base).output(_index(index, name))


def _index(text: str, reference: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise MalformedGraph(f"`{reference}` names no tensor: expected a number after the last colon")
    return int(text)


def _fill_function(function: Function, record: pb.FunctionDef) -> None:
    function.attrs.update(decode_all(record.attr))
    for place, attrs in record.arg_attr.items():
        function.function_rest.arg_attr[place].CopyFrom(attrs)
    for place, unique in record.resource_arg_unique_id.items():
        function.function_rest.resource_arg_unique_id[place] = unique
    for arg in record.signature.input_arg:
        function.args[arg.name] = Argument(function, arg)
    _fill(function, record.node_def, lambda name: _by_argument(function, name))
    for arg in record.signature.output_arg:
        node = function.returns[arg.name] = Node(function, arg.name, RETURN, {})
        node.set_inputs(_by_argument(function, record.ret[arg.name]) if arg.name in record.ret else ())
    for name, target in record.control_ret.items():
        node = function.control_returns[name] = Node(function, name, CONTROL_RETURN, {})
        node.set_controls([_node(function, target)])


def _by_argument(function: Function, name: str) -> list[Value]:
    """`arg`, `arg:1`, `node:output:1`, or `node:output` for all tensors of that argument."""
    base, _, rest = name.partition(":")
    node = _node(function, base)
    output, _, index = (base, "", rest) if isinstance(node, Argument) else rest.partition(":")
    if not output:  # no name at all: the one output of a node that is missing or has but one
        return [node.output(0)]
    if index:
        return [node.output_at(output, _index(index, name))]
    signature = node.signature
    length = signature.length_of(output, node.attrs) if signature else 1
    return [node.output_at(output, i) for i in range(min(length, MOST_OUTPUTS))]


def graph_to_def(graph: Graph) -> pb.GraphDef:
    """The GraphDef of a program, ready to be written."""
    record = pb.GraphDef()
    record.CopyFrom(graph.rest)
    record.library.CopyFrom(graph.library.rest)
    for node in graph:
        _write_node(node, record.node.add(), _position)
    for function in graph.library.functions.values():
        _write_function(function, record.library.function.add())
    return record


def _write_node(node: Node, record: pb.NodeDef, name_of: Callable[[Value], str]) -> None:
    if node.rest is not None:
        record.CopyFrom(node.rest)
    record.name, record.op, record.device = node.name, node.op, node.device
    record.input.extend(map(name_of, node.inputs))
    record.input.extend(f"^{control.name}" for control in node.controls)
    encode_all(node.attrs, record.attr)


def _position(value: Value) -> str:
    return f"{value.node.name}:{value.index}" if value.index else value.node.name


def _argument(value: Value) -> str:
    node, port = value.node, value.port
    if isinstance(node, Argument):
        return f"{node.name}:{value.index}" if node.is_list else node.name
    if port is not None:
        return f"{node.name}:{port[0]}:{port[1]}"
    if node.op == MISSING and value.index == 0:
        return node.name
    raise MalformedGraph(f"output {value.index} of `{node.name}` has no name: {node.op} has none such")


def _write_function(function: Function, record: pb.FunctionDef) -> None:
    record.CopyFrom(function.function_rest)
    record.signature.CopyFrom(function.definition)
    encode_all(function.attrs, record.attr)
    for node in function:
        _write_node(node, record.node_def.add(), _argument)
    for name, node in function.returns.items():
        if node.inputs:
            record.ret[name] = _returned(node)
    for name, node in function.control_returns.items():
        record.control_ret[name] = node.controls[0].name


def _returned(node: Node) -> str:
    """One name for all that a return reads: a list must be the whole of some other list."""
    names = [_argument(value) for value in node.inputs]
    if len(names) == 1:
        return names[0]
    base = names[0].rpartition(":")[0]
    if names != [f"{base}:{i}" for i in range(len(names))]:
        raise MalformedGraph(
            f"return `{node.name}` gathers {', '.join(names)}; a function can return only a whole list"
        )
    return base
