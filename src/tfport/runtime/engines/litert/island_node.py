"""A node of an ONNX model as its translation reads it: values for inputs, and its attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.litert.island_value import IslandValue, NotInLite
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class IslandNode:
    """A node, with None for an input that is left out."""

    op: str
    inputs: tuple[IslandValue | None, ...]
    attrs: dict[str, Any]
    outputs: int

    @property
    def first(self) -> IslandValue:
        return self.value(0)

    def value(self, number: int) -> IslandValue:
        """An input that must be there."""
        value = self.optional(number)
        if value is None:
            raise NotInLite(f"{self.op} has no input {number}")
        return value

    def optional(self, number: int) -> IslandValue | None:
        return self.inputs[number] if number < len(self.inputs) else None

    def known(self, number: int) -> NDArray[Any] | None:
        """The elements of a constant input; None if it is left out."""
        value = self.optional(number)
        return value.constant() if value is not None else None

    def list_of(self, name: str, number: int) -> list[int] | None:
        """Integers of an attribute, or, as in newer versions of an op, of a constant input."""
        if name in self.attrs:
            return list(self.attrs[name])
        array = self.known(number)
        return [int(element) for element in np.atleast_1d(array)] if array is not None else None


def attributes_of(node: pb.NodeProto) -> dict[str, Any]:
    """The attributes of a node; those of kinds that no translated node has are None."""
    kinds = pb.AttributeProto
    attrs: dict[str, Any] = {}
    for attribute in node.attribute:
        match attribute.type:
            case kinds.INT:
                attrs[attribute.name] = attribute.i
            case kinds.FLOAT:
                attrs[attribute.name] = attribute.f
            case kinds.STRING:
                attrs[attribute.name] = attribute.s.decode()
            case kinds.INTS:
                attrs[attribute.name] = list(attribute.ints)
            case kinds.FLOATS:
                attrs[attribute.name] = list(attribute.floats)
            case _:
                attrs[attribute.name] = None
    return attrs
