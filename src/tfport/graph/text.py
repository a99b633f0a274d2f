"""One line for one node, printed and parsed: the notation of reports and tests.

    y = FusedBatchNormV3(x, s, o, m, v, ^wait) {data_format="NHWC", epsilon=0.001} @"/cpu:0"

`x` is output 0 of x and `x:2` output 2; `^x` waits for x. Values of attributes:
`1`, `0.5`, `true`, `"text"`, `b"\\xff"`, `float32`, `(?, 3)` a shape, `[…]` a list,
`@f` or `@f {…}` a function, `$T` a placeholder, `float32(2,)[1.0, 2.0]` a tensor, `none`.
Bare words that name no type are strings when parsed.
A graph is one node a line, then its functions:

    def square(x: float32) -> (y: float32):
      m = Mul(x, x) {T=float32}
      return y=m
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tfport.graph.attrs import Attr, FunctionRef, Placeholder
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

MOST_ELEMENTS = 16


def node_text(node: Node, *, attrs: bool = True, hide: tuple[str, ...] = ("_output_shapes",)) -> str:
    """The line of a node."""
    reads = [str(value) for value in node.inputs] + [f"^{control.name}" for control in node.controls]
    shown = {k: v for k, v in node.attrs.items() if k not in hide} if attrs else {}
    device = f" @{json.dumps(node.device)}" if node.device else ""
    return f"{node.name} = {node.op}({', '.join(reads)}){attrs_text(shown)}{device}"


def attrs_text(attrs: dict[str, Attr]) -> str:
    inner = ", ".join(f"{name}={attr_text(value)}" for name, value in sorted(attrs.items()))
    return f" {{{inner}}}" if inner else ""


def attr_text(value: Attr) -> str:
    """An attribute's value as it is written after `name=`."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
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
    """`float32(2,)[1.0, 2.0]`; a large one ends in `…` and cannot be parsed again."""
    head = f"{tensor.dtype}{tensor.shape}"
    size = tensor.shape.size
    if size is None or tensor.dtype.name in ("resource", "variant"):
        return f"{head}[…]"
    flat = tensor.numpy().reshape(-1)[:MOST_ELEMENTS]
    shown = [_element_text(element, tensor.dtype) for element in flat.tolist()]
    return f"{head}[{', '.join(shown + ['…'] * (size > MOST_ELEMENTS))}]"


def _element_text(element: object, dtype: DType) -> str:
    if isinstance(element, bytes):
        try:
            return json.dumps(element.decode(), ensure_ascii=False)
        except UnicodeDecodeError:
            return repr(element)
    return attr_text(element) if isinstance(element, bool) else repr(element)


def graph_text(graph: Graph) -> str:
    """A whole program: its nodes, then its functions."""
    lines = [node_text(node) for node in graph]
    for function in graph.library.functions.values():
        lines += ["", *_function_lines(function)]
    return "\n".join(lines) + "\n"


def _function_lines(function: Function) -> Iterator[str]:
    args = ", ".join(f"{name}: {node.output(0).dtype}" for name, node in function.args.items())
    types = zip(function.returns, (v.dtype for v in function.results), strict=False)
    yield f"def {function.name}({args}) -> ({', '.join(f'{name}: {dtype}' for name, dtype in types)}):"
    yield from (f"  {node_text(node)}" for node in function)
    returned = [f"{name}={', '.join(map(str, node.inputs))}" for name, node in function.returns.items()]
    returned += [f"^{node.controls[0].name}" for node in function.control_returns.values()]
    yield f"  return {', '.join(returned)}"
