"""The inputs and outputs of an op: the number and types of the tensors of each argument.

An OpDef declares them with attributes (`N` tensors of type `T`); with the attributes
of a node they become a flat list. Function bodies refer to outputs by argument
(`split:output:2`), the main graph by position (`split:2`); this module converts them.
Attributes that a file leaves out have the defaults of the op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import INVALID, DType

OpDefs: TypeAlias = Mapping[str, pb.OpDef]
"""Definitions of ops by name."""


class Arg:
    """An argument of an op: a tensor, or a list of tensors."""

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
        """The number of tensors; KeyError or TypeError if the attributes do not determine it."""
        if self.list_attr:
            types: list[Attr] = attrs[self.list_attr]
            if not isinstance(types, list):
                raise TypeError(f"{self.list_attr} is not a list")
            return len(types)
        if self.number_attr:
            count = attrs[self.number_attr]
            if not isinstance(count, int):
                raise TypeError(f"{self.number_attr} is not a number")
            return max(0, count)
        return 1

    def types(self, count: int, attrs: Mapping[str, Attr]) -> list[DType]:
        """The types of all `count` tensors; INVALID where the attributes do not determine one."""
        listed = attrs.get(self.list_attr) if self.list_attr and not self.is_ref else None
        if isinstance(listed, list) and len(listed) == count:
            return [item if isinstance(item, DType) else INVALID for item in listed]
        if self.list_attr:
            return [self.type_at(index, attrs) for index in range(count)]
        return [self.type_at(0, attrs)] * count

    def type_at(self, index: int, attrs: Mapping[str, Attr]) -> DType:
        """The type of one of the tensors; INVALID if the attributes do not determine it."""
        try:
            dtype = attrs[self.list_attr][index] if self.list_attr else self.type or attrs[self.type_attr]
        except (KeyError, TypeError, IndexError):
            return INVALID
        if not isinstance(dtype, DType):
            return INVALID
        return dtype.ref if self.is_ref else dtype


class OpSignature:
    """The signature of an op, from its OpDef."""

    __slots__ = (
        "_indices", "attr_types", "calls", "defaults", "flat", "flat_inputs", "inputs", "name", "outputs",
        "stateful",
    )  # fmt: skip

    def __init__(self, proto: pb.OpDef) -> None:
        self.name = proto.name
        self.inputs = tuple(map(Arg, proto.input_arg))
        self.outputs = tuple(map(Arg, proto.output_arg))
        self.stateful = proto.is_stateful
        self.attr_types = {a.name: a.type for a in proto.attr}
        self.calls = tuple(a.name for a in proto.attr if a.type in ("func", "list(func)"))
        """The attributes with names of functions."""
        self.flat = not any(arg.is_list for arg in self.outputs)
        """Whether each output argument is one tensor, so that no attribute affects their number."""
        self.flat_inputs = not any(arg.is_list for arg in self.inputs)
        self._indices = {arg.name: index for index, arg in enumerate(self.outputs)}
        self.defaults = {a.name: decode(a.default_value) for a in proto.attr if a.HasField("default_value")}

    def output_count(self, attrs: Mapping[str, Attr]) -> int | None:
        """The number of outputs; None if the attributes do not determine it."""
        if self.flat:
            return len(self.outputs)
        attrs = self.with_defaults(attrs)
        try:
            return sum(arg.count(attrs) for arg in self.outputs)
        except (KeyError, TypeError):
            return None

    def index_of(self, name: str, index: int, attrs: Mapping[str, Attr]) -> int | None:
        """The index of the output `name:index`; None if it is unknown."""
        if self.flat:
            return None if index else self._indices.get(name)
        start, count = self.span_of(name, attrs)
        return start + index if 0 <= index < count else None

    def port_of(self, index: int, attrs: Mapping[str, Attr]) -> tuple[Arg, int] | None:
        """The argument of output `index`, and the index within it; the inverse of `index_of`."""
        if self.flat:
            return (self.outputs[index], 0) if index < len(self.outputs) else None
        for start, count, arg in self._spans(self.with_defaults(attrs)):
            if index < start + count:
                return arg, index - start
        return None

    def span_of(self, name: str, attrs: Mapping[str, Attr]) -> tuple[int, int]:
        """The index of the first tensor of the output argument `name`, and their number; 0 if unknown."""
        spans = self._spans(self.with_defaults(attrs))
        return next(((start, count) for start, count, arg in spans if arg.name == name), (0, 0))

    def length_of(self, name: str, attrs: Mapping[str, Attr]) -> int | None:
        """The number of tensors of the output argument `name`; None if it is unknown."""
        return next((n for _, n, arg in self._spans(self.with_defaults(attrs)) if arg.name == name), None)

    def output_type(self, index: int, attrs: Mapping[str, Attr]) -> DType:
        """The type of an output; INVALID if the attributes do not determine it."""
        port = self.port_of(index, attrs)
        return port[0].type_at(port[1], self.with_defaults(attrs)) if port else INVALID

    def output_types(self, attrs: Mapping[str, Attr]) -> tuple[DType, ...]:
        """The types of all outputs, for attributes with all defaults."""
        if self.flat:
            return tuple([arg.type_at(0, attrs) for arg in self.outputs])
        return tuple([self.output_type(i, attrs) for i in range(self.output_count(attrs) or 0)])

    def _spans(self, attrs: Mapping[str, Attr]) -> Iterator[tuple[int, int, Arg]]:
        """The start and the number of tensors of each output argument, up to the first unknown one."""
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
    """Signatures by op name, created on first access."""

    def __init__(self, definitions: OpDefs) -> None:
        self.definitions = definitions
        self._signatures: dict[str, OpSignature | None] = {}

    def get(self, op: str) -> OpSignature | None:
        """The signature of an op; None for an undefined op."""
        if op not in self._signatures:
            definition = self.definitions.get(op)
            self._signatures[op] = OpSignature(definition) if definition is not None else None
        return self._signatures[op]
