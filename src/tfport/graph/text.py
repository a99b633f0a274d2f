"""Print nodes and graphs, one line per node: the notation of reports and tests.

    y = FusedBatchNormV3(x, s, o, m, v, ^wait) {data_format="NHWC", epsilon=0.001} @"/cpu:0"

`x` is output 0 of x and `x:2` output 2; `^x` waits for x. Values of attributes:
`1`, `0.5`, `true`, `"text"`, `b"\\xff"`, `float32`, `(?, 3)` a shape, `[…]` a list,
`@f` or `@f {…}` a function, `$T` a placeholder, `float32(2,)[1.0, 2.0]` a tensor, `none`.
Words without quotes that are not types are parsed as strings.
A graph has a line for each node, then its functions:

    def square(x: float32) -> (y: float32):
      m = Mul(x, x) {T=float32}
      return y=m
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, FunctionRef, Placeholder, decode_string
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

MOST_ELEMENTS = 16


def node_text(node: Node, *, attrs: bool = True, hide: tuple[str, ...] = ("_output_shapes",)) -> str:
    """The line of a node."""
    reads = [str(value) for value in node.inputs] + [f"^{control.name}" for control in node.controls]
    shown = {k: v for k, v in node.attrs.items() if k not in hide} if attrs else {}
    device = f" @{quoted(node.device)}" if node.device else ""
    return f"{node.name} = {node.op}({', '.join(reads)}){attrs_text(shown)}{device}"


def quoted(text: str) -> str:
    """A string in quotes, on one line and safe for a terminal."""
    shown = (c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))
    return "".join(shown)


def attrs_text(attrs: dict[str, Attr]) -> str:
    inner = ", ".join(f"{name}={attr_text(value)}" for name, value in sorted(attrs.items()))
    return f" {{{inner}}}" if inner else ""


def attr_text(value: Attr) -> str:
    """The value of an attribute, as it appears after `name=`."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case list():
            return f"[{', '.join(map(attr_text, value))}]"
        case FunctionRef():
            return f"@{value.name}{attrs_text(value.attrs)}"
        case Placeholder():
            return f"${value.name}"
        case Tensor():
            return tensor_text(value)
    return str(value) if isinstance(value, Shape) else repr(value)


def tensor_text(tensor: Tensor) -> str:
    """`float32(2,)[1.0, 2.0]`; a large tensor ends in `…` and cannot be parsed."""
    head = f"{tensor.dtype}{tensor.shape}"
    size = tensor.shape.size
    try:
        flat = tensor.numpy().flat[:MOST_ELEMENTS] if size is not None else None
    except UnreadableFile:  # resources and variants have no elements, and a tensor may be malformed
        flat = None
    if flat is None or size is None:
        return f"{head}[…]"
    shown = [_element_text(element) for element in flat.tolist()]
    return f"{head}[{', '.join(shown + ['…'] * (size > MOST_ELEMENTS))}]"


def _element_text(element: object) -> str:
    if isinstance(element, bytes):
        return attr_text(decode_string(element))
    if isinstance(element, complex):
        imaginary = repr(element.imag)  # a NaN has no sign, whatever its bits are
        return f"{element.real!r}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    return attr_text(element) if isinstance(element, bool) else str(element)


def graph_text(graph: Graph) -> str:
    """A whole program: its nodes, then its functions."""
    lines = [node_text(node) for node in graph]
    for function in graph.library.functions.values():
        lines += ["", *_function_lines(function)]
    return "\n".join(lines) + "\n"


def _function_lines(function: Function) -> Iterator[str]:
    args = ", ".join(map(_arg_text, function.definition.input_arg))
    results = ", ".join(map(_arg_text, function.definition.output_arg))
    yield f"def {function.name}({args}) -> ({results}):"
    yield from (f"  {node_text(node)}" for node in function)
    returned = [f"{name}={_returned_text(node)}" for name, node in function.returns.items()]
    returned += [f"^{c.name}" for node in function.control_returns.values() for c in node.controls]
    yield f"  return {', '.join(returned)}".rstrip()


def _arg_text(arg: pb.OpDef.ArgDef) -> str:
    """`x: float32`, `x: $T`; lists, `x: float32 * $N` and `x: $Tin…`, are shown but not parsed."""
    if arg.type_list_attr:
        return f"{arg.name}: ${arg.type_list_attr}…"
    dtype = str(DType.of(arg.type)) if arg.type else f"${arg.type_attr}"
    return f"{arg.name}: {dtype}" + (f" * ${arg.number_attr}" if arg.number_attr else "")


def _returned_text(node: Node) -> str:
    names = ", ".join(map(str, node.inputs))
    return names if len(node.inputs) == 1 else f"[{names}]"
