"""The different ways in which a program uses ops: many nodes, few usages.

Nodes with the same op, device, attributes and types of inputs are one `Usage`: what
a runtime would say of one of them it says of all. What no runtime looks at when it
chooses a kernel, the content of constants and the names of resources say, makes no
difference here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, encode
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Argument
from tfport.graph.node import Node, Value

LABEL = "_kernel"
NAMES = frozenset(("container", "debug_name", "shared_name", "tensor_name"))
"""Attributes that hold any text: names."""
_KIND_ONLY = NAMES | {"shape"}
Key = tuple[object, ...]


@dataclass(eq=False, slots=True)
class Usage:
    """Nodes that are alike to any runtime."""

    node: Node
    """One of them."""
    inputs: tuple[DType, ...]
    """INVALID where nobody knows the type."""
    nodes: list[Node] = field(default_factory=list)

    @property
    def op(self) -> str:
        return self.node.op

    @property
    def attrs(self) -> Mapping[str, Attr]:
        return self.node.attrs

    @property
    def device(self) -> str:
        return self.node.device

    def dims(self, node: Node, place: int) -> tuple[int | None, ...] | None:
        """The sizes of an input of one node as far as they are known; None where not even the rank is."""
        return node.inputs[place].shape.dims if place < len(node.inputs) else None


def usages(nodes: Iterable[Node]) -> list[Usage]:
    """The ways in which these nodes use ops, in the order in which they come up."""
    among = list(nodes)
    kinds = _Kinds()
    kind_of = {node: kinds.number(node) for node in among}
    found: dict[tuple[int, tuple[DType, ...]], Usage] = {}
    for node in among:
        inputs = tuple([kinds.type_of(value, kind_of.get(value.node)) for value in node.inputs])
        usage = found.get((kind_of[node], inputs))
        if usage is None:
            usage = found[kind_of[node], inputs] = Usage(node, inputs)
        usage.nodes.append(node)
    return list(found.values())


class _Kinds:
    """Nodes by op, device and attributes, numbered; the outputs of one kind have the same types."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._types: dict[tuple[int, int], DType] = {}

    def number(self, node: Node) -> int:
        key = (node.op, node.device, *_attributes(node))
        return self._numbers.setdefault(key, len(self._numbers))

    def type_of(self, value: Value, kind: int | None) -> DType:
        """The type of a value of a node of this kind; of none, where it is an argument or missing."""
        if kind is None:
            node = value.node
            if isinstance(node, Argument):
                return node.plain_type or value.dtype
            return value.dtype if node.op else INVALID
        found = self._types.get((kind, value.index))
        if found is None:
            found = self._types[kind, value.index] = value.dtype
        return found


def _attributes(node: Node) -> list[tuple[str, object]]:
    attrs = node.record.attr if node.record is not None and node.attrs_are_as_read else _encoded(node)
    found: list[tuple[str, object]] = []
    for name in attrs:
        if name[0] == "_" and name != LABEL:
            continue
        value = attrs[name]
        if value.type:  # most are types, and asking for one is the fastest
            found.append((name, value.type))
        elif name in _KIND_ONLY:
            found.append((name, value.WhichOneof("value")))
        elif name == "value" and node.op == "Const":
            found.append((name, value.tensor.dtype))
        else:
            found.append((name, value.SerializeToString()))
    found.sort()
    return found


def _encoded(node: Node) -> Mapping[str, pb.AttrValue]:
    return {name: encode(value) for name, value in node.attrs.items()}
