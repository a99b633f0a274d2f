"""The type of a value as text: `float32 [?, 224, 224, 3]`, or `float32` if the rank is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.errors import MalformedGraph
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import UNKNOWN, Shape


def type_text(dtype: str, dims: Sequence[int | None] | None) -> str:
    """An element type and a shape."""
    if dims is None:
        return dtype
    return f"{dtype} [{', '.join('?' if size is None else str(size) for size in dims)}]"


class ValueTypes:
    """The types of the values of a graph; each is found once, without decoding the node where possible."""

    def __init__(self, shapes: dict[Node, list[Shape]] | None = None) -> None:
        """`shapes` are those that were inferred; without them, only the file's own are known."""
        self._shapes = shapes or {}
        self._texts: dict[Value, str] = {}
        self._by_parts: dict[tuple[int, tuple[int | None, ...] | None], str] = {}

    def text(self, value: Value) -> str:
        """The type as text; empty if nothing is known."""
        text = self._texts.get(value)
        if text is None:
            text = self._texts[value] = self._text(value)
        return text

    def _text(self, value: Value) -> str:
        if value.index < 0:  # a whole list of tensors
            return ""
        try:
            dtype, shape = _dtype(value), self._shape(value)
        except MalformedGraph:  # an attribute that cannot be decoded, which `check` reports
            return ""
        if dtype == INVALID:
            return "" if shape.dims is None else type_text("unknown type", shape.dims)
        key = dtype.number, shape.dims
        text = self._by_parts.get(key)
        if text is None:
            text = self._by_parts[key] = type_text(str(dtype), shape.dims)
        return text

    def _shape(self, value: Value) -> Shape:
        shapes = self._shapes.get(value.node, ())
        if 0 <= value.index < len(shapes) and shapes[value.index].dims is not None:
            return shapes[value.index]
        node = value.node
        if node.record is not None and node.attrs_are_as_read:
            known = node.record.attr
            if "_output_shapes" not in known and "value" not in known and "shape" not in known:
                return node.graph.stated_shapes.get(value, UNKNOWN)
        return value.shape


def _dtype(value: Value) -> DType:
    """The element type; reads one attribute of a node that was not decoded yet."""
    node = value.node
    signature = node.signature
    if signature is None:
        return INVALID
    if node.record is not None and node.attrs_are_as_read and signature.flat:
        if not 0 <= value.index < len(signature.outputs):
            return INVALID
        arg = signature.outputs[value.index]
        if arg.type is not None and not arg.is_ref:
            return arg.type
        if arg.type_attr in node.record.attr:
            number = node.record.attr[arg.type_attr].type
            dtype = DType.of(number) if number else INVALID
            return dtype.ref if arg.is_ref else dtype
    return value.dtype
