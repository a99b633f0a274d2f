"""Parse the node notation of `text` into a Graph: lines of nodes and functions, attribute values, tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.dtypes import DType
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, FunctionLibrary, Graph, Node
from tfport.graph.op_signature import OpTable
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor

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
    dtype = tokens.next("word")[1]
    try:
        arg.type = DType.parse(dtype).number  # type: ignore[assignment]
    except KeyError:
        raise tokens.fail(f"expected a type, found {dtype}") from None


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


# Attribute values: the inverse of `text.attr_text`

DEEPEST = 32
_WORDS = {"true": True, "false": False, "none": None}


def read_attrs(tokens: Tokens, depth: int = 0) -> dict[str, Attr]:
    """`{name=value, …}`, or nothing."""
    return dict(tokens.separated(lambda: _pair(tokens, depth), "}")) if tokens.skip("{") else {}


def _pair(tokens: Tokens, depth: int) -> tuple[str, Attr]:
    name = tokens.next("word")[1]
    tokens.next("=")
    return name, _value(tokens, depth)


def _value(tokens: Tokens, depth: int) -> Attr:
    if depth > DEEPEST:
        raise tokens.fail("nested too deeply")
    kind, text = tokens.next()
    if kind in _READ:
        return _READ[kind](text, tokens)
    if text == "[":
        return tokens.separated(lambda: _value(tokens, depth + 1), "]")
    if text == "(":
        return _shape(tokens)
    if text == "@":
        return FunctionRef(tokens.next("word")[1], read_attrs(tokens, depth + 1))
    if text == "$":
        return Placeholder(tokens.next("word")[1])
    raise tokens.fail(f"expected a value, found {text}")


def _number(text: str, tokens: Tokens) -> int | float:
    try:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    except ValueError:  # Python parses no integer of thousands of digits
        raise tokens.fail("a number has too many digits") from None


def read_string(text: str, tokens: Tokens) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise tokens.fail(f"{text} is not a JSON string") from None


def _bytes(text: str, tokens: Tokens) -> bytes:
    plain = re.sub(r"\\(x[0-9a-fA-F]{2}|[\\'\"abfnrtv]|[0-7]{1,3})", "", text[2:-1])
    if "\\" in plain or not plain.isascii():
        raise tokens.fail(f"{text} has an escape that is invalid in bytes")
    return text[2:-1].encode().decode("unicode_escape").encode("latin-1", "replace")


def _word(text: str, tokens: Tokens) -> Attr:
    if text in _WORDS:
        return _WORDS[text]
    try:
        dtype = DType.parse(text)
    except KeyError:
        return text
    return _tensor(dtype, tokens) if tokens.skip("(") else dtype


_READ = {
    "number": _number,
    "complex": lambda text, _: complex(text),
    "string": read_string,
    "bytes": _bytes,
    "word": _word,
}


def _shape(tokens: Tokens) -> Shape:
    if tokens.skip("..."):
        tokens.next(")")
        return UNKNOWN
    return Shape(tuple(tokens.separated(lambda: _size(tokens), ")")))


def _size(tokens: Tokens) -> int | None:
    text = tokens.next("number", "?")[1]
    size = None if text == "?" else _number(text, tokens)
    if isinstance(size, float) or (size is not None and not 0 <= size < 1 << 63):
        raise tokens.fail(f"{text} is not a valid size of an axis")
    return size


def _tensor(dtype: DType, tokens: Tokens) -> Tensor:
    import numpy as np

    shape = _shape(tokens)
    tokens.next("[")
    elements = tokens.separated(lambda: _value(tokens, DEEPEST), "]")
    if shape.size != len(elements):
        raise tokens.fail(
            f"expected {shape.size} elements for a tensor of shape {shape}, found {len(elements)}"
        )
    try:
        flat = np.empty(len(elements), dtype.numpy)
        flat[:] = [e.encode() if isinstance(e, str) else e for e in elements]
        return Tensor.from_numpy(flat.reshape([d or 0 for d in shape.dims or ()]), dtype)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise MalformedGraph(
            f"in `{tokens.shown}`: the elements are not valid for a {dtype} tensor"
        ) from None


# Tokens of a line

T = TypeVar("T")

# the end of a number, so that `1x`, `3/conv` and `inf_2` are names
_END = r"(?![\w/.>:\\-])"
_REAL = r"(?:inf|nan|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_TOKEN = re.compile(
    rf"""\s*(?:(?P<comment>\#.*)
          | (?P<bytes>b(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
          | (?P<string>"(?:[^"\\]|\\.)*")
          | (?P<complex>[-+]?{_REAL}[-+]{_REAL}j{_END})
          | (?P<number>[-+]?{_REAL}{_END})
          | (?P<ellipsis>\.\.\.)
          | (?P<arrow>->)
          | (?P<word>[\w.<>][\w./<>\\-]*(?::\d+)?)
          | (?P<mark>[=(){{}}\[\],^@$?:]))""",
    re.VERBOSE,
)
LONGEST = 200


class Tokens:
    """The tokens of a line, read one by one; an unexpected one raises MalformedGraph."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        at, end = 0, len(line.rstrip())
        while at < end:
            token = _TOKEN.match(line, at)
            if token is None or token.lastgroup is None:
                raise MalformedGraph(
                    f"column {at + 1} of `{self.shown}`: expected a name, a value or punctuation"
                )
            if token.lastgroup != "comment":
                self.tokens.append((token.lastgroup, token.group(token.lastgroup)))
            at = token.end()

    @property
    def shown(self) -> str:
        return self.line if len(self.line) <= LONGEST else self.line[:LONGEST] + "…"

    def fail(self, problem: str) -> MalformedGraph:
        return MalformedGraph(f"in `{self.shown}`: {problem}")

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self, mark: str) -> bool:
        return not self.is_done and self.tokens[self.at][1] == mark

    def next(self, *expected: str) -> tuple[str, str]:
        """The next token as kind and text; it must have one of these kinds or texts."""
        kind, text = ("end", "the end") if self.is_done else self.tokens[self.at]
        if kind == "end" or (expected and kind not in expected and text not in expected):
            raise self.fail(f"expected {' or '.join(expected) or 'a value'}, found {text}")
        self.at += 1
        return kind, text

    def skip(self, mark: str) -> bool:
        is_next = self.peek(mark)
        self.at += is_next
        return is_next

    def separated(self, read: Callable[[], T], end: str) -> list[T]:
        """Call `read` for each element of a comma-separated list up to `end`."""
        out = []
        while not self.skip(end):
            out.append(read())
            if not self.peek(end):
                self.next(",")
        return out

    def done(self) -> None:
        if not self.is_done:
            raise self.fail(f"expected the end, found {self.tokens[self.at][1]}")
