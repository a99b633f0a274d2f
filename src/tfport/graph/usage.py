"""Group the nodes of a program by how they use ops: many nodes, few usages.

Nodes with the same op, device, attributes and input types are one `Usage`: a runtime
treats them in the same way. The content of constants and the names of resources are ignored,
as no runtime uses them to choose a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, encode
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Argument, Node, Value
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass, field

LABEL = "_kernel"
NAMES = frozenset(("container", "debug_name", "shared_name", "tensor_name"))
"""Attributes with names, which may be any text."""
_KIND_ONLY = NAMES | {"shape"}
Key = tuple[object, ...]


@dataclass(eq=False, slots=True)
class Usage:
    """Nodes that every runtime treats in the same way."""

    node: Node
    """One of them."""
    inputs: tuple[DType, ...]
    """INVALID for an unknown type."""
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

    def dims(self, node: Node, index: int) -> tuple[int | None, ...] | None:
        """The sizes of an input of a node; None for an unknown size, or for an unknown rank."""
        return node.inputs[index].shape.dims if index < len(node.inputs) else None


def usages(nodes: Iterable[Node]) -> list[Usage]:
    """The usages of ops by these nodes, in the order of their first nodes."""
    numbers: dict[Key, int] = {}
    kind_of = {node: numbers.setdefault(usage_key(node), len(numbers)) for node in nodes}
    types: list[dict[int, int]] = [{} for _ in numbers]
    """By kind and index, the type of an output as a number: it is the same for all nodes of a kind."""
    by_key: dict[tuple[int, ...], Usage] = {}
    for node, kind in kind_of.items():
        key = [kind]
        for value in node.inputs:
            source = kind_of.get(value.node)
            number = types[source].get(value.index) if source is not None else _type_number(value)
            if number is None:
                number = types[kind_of[value.node]][value.index] = value.dtype.number
            key.append(number)
        usage = by_key.get(fixed := tuple(key))
        if usage is None:
            usage = by_key[fixed] = Usage(node, tuple(map(DType.of, key[1:])))
        usage.nodes.append(node)
    return list(by_key.values())


def usage_key(node: Node) -> Key:
    """Equal for nodes with the same op, device and attributes; of the same usage if their inputs are, too."""
    attrs = node.attrs_as_read
    if attrs is not None:
        names = _relevant(tuple(attrs))
        key: list[object] = [node.op, node.device, names]
        for name in names:
            value = attrs[name]
            key.append(value.type or _part(node, name, value))  # most are types
        return tuple(key)
    names, decoded = _relevant(tuple(node.attrs)), node.attrs
    return (node.op, node.device, names, *[_decoded_part(node, name, decoded[name]) for name in names])


@lru_cache(maxsize=4096)
def _relevant(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these attributes by which a runtime chooses a kernel, sorted; many nodes have the same."""
    return tuple(sorted(name for name in names if name[:1] != "_" or name == LABEL))


def _type_number(value: Value) -> int:
    """The number of the type of an argument, or of an output of a missing node."""
    node = value.node
    if isinstance(node, Argument):
        return node.plain_type or value.dtype.number
    return (value.dtype if node.op else INVALID).number


def _part(node: Node, name: str, value: pb.AttrValue) -> object:
    """What matters of an attribute that is not a type."""
    if name in _KIND_ONLY:
        return value.WhichOneof("value")
    if name == "value" and node.op == "Const":
        return value.tensor.dtype
    return value.SerializeToString()


def _decoded_part(node: Node, name: str, value: Attr) -> object:
    if isinstance(value, DType):
        return value.number
    if name == "value" and node.op == "Const" and isinstance(value, Tensor):
        return value.dtype.number
    return _part(node, name, encode(value))
