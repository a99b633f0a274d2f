"""Parse the node notation of `text` into a Graph."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import DType
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, FunctionLibrary, Graph, Node
from tfport.graph.op_signature import OpTable
from tfport.graph.parse_attrs import read_attrs, read_string
from tfport.graph.tokens import Tokens

# but `def = Op(x)` and `return = Op(x)` are nodes
_DEF = re.compile(r"def\s+(?!=)")
_RETURN = re.compile(r"\s*return(?!\s*=)(?=\s|$)")

Reads = tuple[Graph, Node, list[str]]


def parse_graph(text: str, ops: OpTable) -> Graph:
    """Parse a graph; blank lines and `#` comments are ignored."""
    library = FunctionLibrary()
    main = Graph(ops, library)
    scope: Graph = main
    waiting: list[Reads] = []
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if head := _DEF.match(line):
            scope = _function(line[head.end() :], ops, library)
        elif head := _RETURN.match(line):
            waiting += _returns(Tokens(line[head.end() :].strip()), scope)
            scope = main
        else:
            node, reads = _node(Tokens(line.strip()), scope)
            waiting.append((scope, node, reads))
    for graph, node, names in waiting:
        _connect(graph, node, names)
    return main


def _connect(graph: Graph, node: Node, names: Iterable[str]) -> None:
    names = list(names)
    node.set_inputs([graph.value(name) for name in names if not name.startswith("^")])
    node.set_controls([graph.value(name[1:]).node for name in names if name.startswith("^")])


def _node(tokens: Tokens, graph: Graph) -> tuple[Node, list[str]]:
    name = tokens.next("word", "number")[1]
    tokens.next("=")
    op = tokens.next("word")[1]
    tokens.next("(")
    reads = tokens.separated(lambda: _reference(tokens), ")")
    attrs = read_attrs(tokens)
    device = read_string(tokens.next("string")[1], tokens) if tokens.skip("@") else ""
    tokens.done()
    return graph.new_node(name, op, attrs, device), reads


def _reference(tokens: Tokens) -> str:
    return ("^" if tokens.skip("^") else "") + tokens.next("word", "number")[1]


def _function(line: str, ops: OpTable, library: FunctionLibrary) -> Function:
    tokens = Tokens(line)
    definition = pb.OpDef(name=tokens.next("word")[1])
    tokens.next("(")
    tokens.separated(lambda: _argument(tokens, definition.input_arg.add(), definition), ")")
    tokens.next("->")
    tokens.next("(")
    tokens.separated(lambda: _argument(tokens, definition.output_arg.add(), definition), ")")
    tokens.next(":")
    tokens.done()
    if definition.name in library.functions:
        raise MalformedGraph(f"two functions have the name `{definition.name}`")
    function = library.functions[definition.name] = Function(definition, ops, library)
    function.args = {arg.name: Argument(function, arg, i) for i, arg in enumerate(definition.input_arg)}
    return function


def _argument(tokens: Tokens, arg: pb.OpDef.ArgDef, definition: pb.OpDef) -> None:
    """`x: float32`, or `x: $T` in a generic function."""
    arg.name = tokens.next("word")[1]
    tokens.next(":")
    if tokens.skip("$"):
        arg.type_attr = tokens.next("word")[1]
        if arg.type_attr not in [attr.name for attr in definition.attr]:
            definition.attr.add(name=arg.type_attr, type="type")
        return
    kind = tokens.next("word")[1]
    try:
        arg.type = DType.parse(kind).number  # type: ignore[assignment]
    except KeyError:
        raise tokens.fail(f"expected a type, found {kind}") from None


def _returns(tokens: Tokens, graph: Graph) -> list[Reads]:
    if not isinstance(graph, Function):
        raise MalformedGraph(f"`return {tokens.shown}` is outside a function")
    out: list[Reads] = []
    while not tokens.is_done:
        if tokens.skip("^"):
            name = tokens.next("word", "number")[1]
            graph.definition.control_output.append(name)
            node = graph.control_returns[name] = Node(graph, name, CONTROL_RETURN)
            out.append((graph, node, [f"^{name}"]))
        else:
            name = tokens.next("word")[1]
            tokens.next("=")
            node = graph.returns[name] = Node(graph, name, RETURN)
            several = tokens.skip("[")
            reads = tokens.separated(lambda: _reference(tokens), "]") if several else [_reference(tokens)]
            out.append((graph, node, reads))
        if not tokens.is_done:
            tokens.next(",")
    return out
