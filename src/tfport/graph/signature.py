"""What an op takes and gives: how many tensors stand behind each argument, and of which types.

An OpDef says it in terms of attributes (`N` tensors of type `T`); with a node's
attributes it becomes a flat list. Function bodies name outputs by argument
(`split:output:2`), the main graph by position (`split:2`): both need this.
Attributes that a file leaves out have the op's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import INVALID, DType

OpDefs: TypeAlias = Mapping[str, pb.OpDef]
"""Definitions of ops by name, wherever they come from."""


class Arg:
    """One argument of an op: one tensor, or a list of them."""

    __slots__ = ("is_ref", "list_attr", "name", "number_attr", "type", "type_attr")

    def __init__(self, proto: pb.OpDef.ArgDef) -> None:
        self.name = proto.name
        self.type = DType.of(proto.type) if proto.type else None
        self.type_attr = proto.type_attr
        self.number_attr = proto.number_attr
        self.list_attr = proto.type_list_attr
        self.is_ref = proto.is_ref

    @property
    def is_list(self) -> bool:
        return bool(self.number_attr or self.list_attr)

    def count(self, attrs: Mapping[str, Attr]) -> int:
        """How many tensors; KeyError or TypeError where the attributes do not say."""
        if self.list_attr:
            types: list[Attr] = attrs[self.list_attr]
            if not isinstance(types, list):
                raise TypeError(f"{self.list_attr} is no list")
            return len(types)
        if self.number_attr:
            count = attrs[self.number_attr]
            if not isinstance(count, int):
                raise TypeError(f"{self.number_attr} is no number")
            return max(0, count)
        return 1

    def type_at(self, place: int, attrs: Mapping[str, Attr]) -> DType:
        """The type of one of the tensors; INVALID where the attributes do not say."""
        try:
            found = attrs[self.list_attr][place] if self.list_attr else self.type or attrs[self.type_attr]
        except (KeyError, TypeError, IndexError):
            return INVALID
        if not isinstance(found, DType):
            return INVALID
        return found.ref if self.is_ref else found


class OpSignature:
    """An OpDef ready to be asked about nodes."""

    __slots__ = (
        "_indices", "attr_types", "calls", "defaults", "flat", "inputs", "name", "outputs", "stateful",
    )  # fmt: skip

    def __init__(self, proto: pb.OpDef) -> None:
        self.name = proto.name
        self.inputs = tuple(map(Arg, proto.input_arg))
        self.outputs = tuple(map(Arg, proto.output_arg))
        self.stateful = proto.is_stateful
        self.attr_types = {a.name: a.type for a in proto.attr}
        self.calls = tuple(a.name for a in proto.attr if a.type in ("func", "list(func)"))
        """The attributes that name functions."""
        self.flat = not any(arg.is_list for arg in self.outputs)
        """Whether each output argument is one tensor, so that no attribute decides how many there are."""
        self._indices = {arg.name: index for index, arg in enumerate(self.outputs)}
        self.defaults = {a.name: decode(a.default_value) for a in proto.attr if a.HasField("default_value")}

    def output_count(self, attrs: Mapping[str, Attr]) -> int | None:
        """How many outputs there are; None where the attributes do not say."""
        if self.flat:
            return len(self.outputs)
        attrs = self.with_defaults(attrs)
        try:
            return sum(arg.count(attrs) for arg in self.outputs)
        except (KeyError, TypeError):
            return None

    def index_of(self, name: str, place: int, attrs: Mapping[str, Attr]) -> int | None:
        """Where the output `name:place` stands among all; None where that cannot be known."""
        if self.flat:
            return None if place else self._indices.get(name)
        for start, count, arg in self._spans(self.with_defaults(attrs)):
            if arg.name == name:
                return start + place if place < count else None
        return None

    def port_of(self, index: int, attrs: Mapping[str, Attr]) -> tuple[Arg, int] | None:
        """The argument that output `index` belongs to, and its place in it; the reverse of `index_of`."""
        if self.flat:
            return (self.outputs[index], 0) if index < len(self.outputs) else None
        for start, count, arg in self._spans(self.with_defaults(attrs)):
            if index < start + count:
                return arg, index - start
        return None

    def length_of(self, name: str, attrs: Mapping[str, Attr]) -> int | None:
        """How many tensors the output argument `name` holds; None where that cannot be known."""
        return next((n for _, n, arg in self._spans(self.with_defaults(attrs)) if arg.name == name), None)

    def output_type(self, index: int, attrs: Mapping[str, Attr]) -> DType:
        """The type of an output; INVALID where the attributes do not say."""
        port = self.port_of(index, attrs)
        return port[0].type_at(port[1], self.with_defaults(attrs)) if port else INVALID

    def _spans(self, attrs: Mapping[str, Attr]) -> Iterator[tuple[int, int, Arg]]:
        """Each output argument, where it starts and how many tensors it holds, as far as is known."""
        start = 0
        for arg in self.outputs:
            try:
                count = arg.count(attrs)
            except (KeyError, TypeError):
                return
            yield start, count, arg
            start += count

    def with_defaults(self, attrs: Mapping[str, Attr]) -> Mapping[str, Attr]:
        return {**self.defaults, **attrs} if self.defaults else attrs


class OpTable:
    """Signatures by op name, made when first asked for."""

    def __init__(self, definitions: OpDefs) -> None:
        self.definitions = definitions
        self._made: dict[str, OpSignature | None] = {}

    def get(self, op: str) -> OpSignature | None:
        """The signature of an op, or None for an op that nobody has defined."""
        if op not in self._made:
            found = self.definitions.get(op)
            self._made[op] = OpSignature(found) if found is not None else None
        return self._made[op]
