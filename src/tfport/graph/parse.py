"""The node notation of `text`, read back into a Graph."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.dtypes import DType
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, Graph, Library, Node
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.signature import OpTable
from tfport.graph.tensors import Tensor

_TOKEN = re.compile(
    r"""\s*(?:(?P<bytes>b(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
          | (?P<string>"(?:[^"\\]|\\.)*")
          | (?P<number>-?(?:inf|nan)\b | [-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w/.>:]))
          | (?P<ellipsis>\.\.\.)
          | (?P<arrow>->)
          | (?P<word>[\w.<][\w./<>\\-]*(?::\d+)?)
          | (?P<mark>[=(){}\[\],^@$?:]))""",
    re.VERBOSE,
)


class _Tokens:
    """A line cut into words and marks, read from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.kinds: list[tuple[str, str]] = []
        at = 0
        while at < len(line.rstrip()):
            found = _TOKEN.match(line, at)
            if found is None or found.lastgroup is None:
                raise MalformedGraph(f"column {at + 1} of `{line}`: expected a name, a value or a mark")
            self.kinds.append((found.lastgroup, found.group(found.lastgroup)))
            at = found.end()
        self.at = 0

    def peek(self, mark: str) -> bool:
        return self.at < len(self.kinds) and self.kinds[self.at][1] == mark

    def next(self, *expected: str) -> tuple[str, str]:
        kind, text = self.kinds[self.at] if self.at < len(self.kinds) else ("end", "the end")
        if kind == "end" or (expected and kind not in expected and text not in expected):
            raise MalformedGraph(f"in `{self.line}`: expected {' or '.join(expected)}, found {text}")
        self.at += 1
        return kind, text

    def skip(self, mark: str) -> bool:
        found = self.peek(mark)
        self.at += found
        return found

    def separated(self, read: Callable[[], Any], end: str) -> list[Any]:
        """What `read` gives, again and again between commas, up to `end`."""
        out = []
        while not self.skip(end):
            out.append(read())
            if not self.peek(end):
                self.next(",")
        return out


def parse_graph(text: str, ops: OpTable) -> Graph:
    """The graph that lines of the notation say; blank lines and `#` comments do not count."""
    library = Library()
    main = Graph(ops, library)
    scope: Graph = main
    waiting: list[tuple[Graph, Node, list[str]]] = []
    for raw in text.splitlines():
        line = raw.split(" #")[0].rstrip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith("def "):
            scope = _function(line, ops, library)
        elif line.lstrip().startswith("return"):
            waiting += _returns(line, scope)
            scope = main
        else:
            node, reads = _node(line.strip(), scope)
            waiting.append((scope, node, reads))
    for graph, node, reads in waiting:
        _connect(graph, node, reads)
    return main


def _connect(graph: Graph, node: Node, reads: Iterable[str]) -> None:
    names = list(reads)
    node.set_inputs([graph.value(name) for name in names if not name.startswith("^")])
    node.set_controls([graph.value(name[1:]).node for name in names if name.startswith("^")])


def _node(line: str, graph: Graph) -> tuple[Node, list[str]]:
    tokens = _Tokens(line)
    name = tokens.next("word", "number")[1]
    tokens.next("=")
    op = tokens.next("word")[1]
    tokens.next("(")
    reads = tokens.separated(lambda: _reference(tokens), ")")
    attrs = _attrs(tokens)
    device = json.loads(tokens.next("string")[1]) if tokens.skip("@") else ""
    if tokens.at < len(tokens.kinds):
        raise MalformedGraph(f"in `{line}`: expected the end, found {tokens.next()[1]}")
    return graph.new_node(name, op, attrs, device), reads


def _reference(tokens: _Tokens) -> str:
    return ("^" if tokens.skip("^") else "") + tokens.next("word", "number")[1]


def _attrs(tokens: _Tokens) -> dict[str, Attr]:
    return dict(tokens.separated(lambda: _pair(tokens), "}")) if tokens.skip("{") else {}


def _pair(tokens: _Tokens) -> tuple[str, Attr]:
    name = tokens.next("word")[1]
    tokens.next("=")
    return name, _value(tokens)


def _value(tokens: _Tokens) -> Attr:
    kind, text = tokens.next()
    if kind == "number":
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    if kind == "string":
        return json.loads(text)
    if kind == "bytes":
        return _bytes(text)
    if text == "[":
        return tokens.separated(lambda: _value(tokens), "]")
    if text == "(":
        return _shape(tokens)
    if text == "@":
        return FunctionRef(tokens.next("word")[1], _attrs(tokens))
    if text == "$":
        return Placeholder(tokens.next("word")[1])
    return _word(text, tokens)


def _bytes(text: str) -> bytes:
    body = text[2:-1].encode("latin-1", "backslashreplace")
    return body.decode("unicode_escape").encode("latin-1")


def _word(text: str, tokens: _Tokens) -> Attr:
    if text in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text]
    try:
        dtype = DType.parse(text)
    except KeyError:
        return text
    return _tensor(dtype, tokens) if tokens.skip("(") else dtype


def _shape(tokens: _Tokens) -> Shape:
    if tokens.skip("..."):
        tokens.next(")")
        return UNKNOWN
    dims = tokens.separated(lambda: tokens.next("number", "?")[1], ")")
    return Shape(tuple(None if dim == "?" else int(dim) for dim in dims))


def _tensor(dtype: DType, tokens: _Tokens) -> Tensor:
    import numpy as np

    shape = _shape(tokens)
    tokens.next("[")
    elements = tokens.separated(lambda: _value(tokens), "]")
    flat = np.empty(len(elements), dtype.numpy)
    flat[:] = [e.encode() if isinstance(e, str) else e for e in elements]
    if shape.size != len(elements):
        raise MalformedGraph(f"in `{tokens.line}`: {len(elements)} elements for a tensor of shape {shape}")
    return Tensor.from_numpy(flat.reshape([d or 0 for d in shape.dims or ()]), dtype)


def _function(line: str, ops: OpTable, library: Library) -> Function:
    tokens = _Tokens(line.removeprefix("def "))
    definition = pb.OpDef(name=tokens.next("word")[1])
    tokens.next("(")
    for name, dtype in tokens.separated(lambda: _typed(tokens), ")"):
        definition.input_arg.add(name=name, type=dtype.number)
    tokens.next("->")
    tokens.next("(")
    for name, dtype in tokens.separated(lambda: _typed(tokens), ")"):
        definition.output_arg.add(name=name, type=dtype.number)
    function = library.functions[definition.name] = Function(definition, ops, library)
    function.args = {arg.name: Argument(function, arg) for arg in definition.input_arg}
    return function


def _typed(tokens: _Tokens) -> tuple[str, DType]:
    name = tokens.next("word")[1]
    tokens.next(":")
    return name, DType.parse(tokens.next("word")[1])


def _returns(line: str, graph: Graph) -> list[tuple[Graph, Node, list[str]]]:
    if not isinstance(graph, Function):
        raise MalformedGraph(f"`{line.strip()}` stands outside a function")
    tokens = _Tokens(line.strip().removeprefix("return"))
    out: list[tuple[Graph, Node, list[str]]] = []
    while tokens.at < len(tokens.kinds):
        if tokens.skip("^"):
            name = tokens.next("word")[1]
            node = graph.control_returns[name] = Node(graph, name, CONTROL_RETURN, {})
            out.append((graph, node, [f"^{name}"]))
        else:
            name = tokens.next("word")[1]
            tokens.next("=")
            node = graph.returns[name] = Node(graph, name, RETURN, {})
            out.append((graph, node, [_reference(tokens)]))
        tokens.skip(",")
    return out
