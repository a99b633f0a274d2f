"""Convert attributes between AttrValue and Python values.

| in the file | in Python |   | in the file | in Python |
|---|---|---|---|---|
| `s` | `str`; `bytes` if it is not UTF-8 | | `shape` | `Shape` |
| `i` `f` `b` | `int` `float` `bool` | | `tensor` | `Tensor` |
| `type` | `DType` | | `func` | `FunctionRef` |
| `list` | `list` of these | | `placeholder` | `Placeholder` |

An attribute without a value is `None`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass, field

Attr: TypeAlias = Any
"""One of the Python values in the table above."""
NAMES = frozenset(("_class", "_output_shapes", "_user_specified_name", "debug_name"))
"""Attributes that do not change what a node computes."""


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A reference to a function, with attributes for its body: `@body {T=float32}`."""

    name: str
    attrs: dict[str, Attr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """In the body of a generic function: the attribute of the call with this name."""

    name: str


def decode_string(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


_DECODE: dict[str, Callable[[Any], Attr]] = {
    "s": decode_string,
    "i": int,
    "f": float,
    "b": bool,
    "type": DType.of,
    "shape": Shape.from_proto,
    "tensor": Tensor.from_proto,
    "func": lambda func: FunctionRef(func.name, decode_all(func.attr)),
    "placeholder": Placeholder,
    "list": lambda value: _decode_list(value),
}


def decode(value: pb.AttrValue) -> Attr:
    """The Python value of an attribute."""
    kind = value.WhichOneof("value")
    return None if kind is None else _DECODE[kind](getattr(value, kind))


def decode_all(values: Mapping[str, pb.AttrValue]) -> dict[str, Attr]:
    """A node's attributes as a dict."""
    return {name: decode(value) for name, value in values.items()}


def _decode_list(value: pb.AttrValue.ListValue) -> list[Attr]:
    kinds = [descriptor.name for descriptor, _ in value.ListFields()]
    if len(kinds) > 1:
        raise MalformedGraph(
            f"expected a list attribute with elements of one kind, found {' and '.join(kinds)}"
        )
    return [_DECODE[kinds[0]](v) for v in getattr(value, kinds[0])] if kinds else []


def encode(value: Attr) -> pb.AttrValue:
    """A Python value as an AttrValue."""
    out = pb.AttrValue()
    _encode(value, out)
    return out


def _encode(value: Attr, out: pb.AttrValue) -> None:
    """Write a value into an empty AttrValue."""
    try:
        if isinstance(value, list | tuple):
            out.list.SetInParent()
            if all(type(element) is DType for element in value):  # a call has one for each argument
                out.list.type.extend([element.number for element in value])
                return
            for element in value:
                _encode_into(out.list, element, repeated=True)
        elif value is not None:
            _encode_into(out, value, repeated=False)
    except (ValueError, AttributeError):  # a number too large for its field, a list or placeholder in a list
        raise MalformedGraph(f"{type(value).__name__} {value!r} is not a valid attribute value") from None


def _encode_into(out: Any, value: Attr, *, repeated: bool) -> None:
    if isinstance(value, Tensor) and not repeated:
        value.write_to(out.tensor)  # it may be large, and is not copied
        return
    name, plain = _plain(value)
    if repeated:
        getattr(out, name).append(plain)
    elif name in ("shape", "func"):
        getattr(out, name).CopyFrom(plain)
    else:
        setattr(out, name, plain)


def _plain(value: Attr) -> tuple[str, Any]:
    """The field for a value, and the value as the type of that field."""
    match value:
        case bool():
            return "b", value
        case int():
            return "i", value
        case float():
            return "f", value
        case str():
            return "s", value.encode()
        case bytes():
            return "s", value
        case DType():
            return "type", value.number
        case Shape():
            return "shape", value.to_proto()
        case Tensor():
            return "tensor", value.to_proto()
        case FunctionRef():
            func = pb.NameAttrList(name=value.name)
            encode_all(value.attrs, func.attr)
            return "func", func
        case Placeholder():
            return "placeholder", value.name
    raise MalformedGraph(f"{type(value).__name__} {value!r} is not a valid attribute value")


def encode_all(attrs: Mapping[str, Attr], into: Any) -> None:
    """Write a dict of attributes into a message's map."""
    for name, value in attrs.items():
        _encode(value, into[name])
