"""Nodes and values of an ONNX model as its translation to TensorFlow Lite reads them.

ONNX has the channels of an image second, XNNPACK last. So a value remembers the order in which its axes lie,
and a transposition changes only that; operators that move data are written where an order is required.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.hosted import OTHER_TYPES
from tfport.runtime.program import ONNX_TYPES
from tfport.runtime.size_expression import Number, SizeExpression
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


NAMES = {number: name for name, number in (ONNX_TYPES | OTHER_TYPES).items()}


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
    """The attributes of a node; those of types that no translated node has are None."""
    types = pb.AttributeProto
    attrs: dict[str, Any] = {}
    for attribute in node.attribute:
        match attribute.type:
            case types.INT:
                attrs[attribute.name] = attribute.i
            case types.FLOAT:
                attrs[attribute.name] = attribute.f
            case types.STRING:
                attrs[attribute.name] = attribute.s.decode()
            case types.INTS:
                attrs[attribute.name] = list(attribute.ints)
            case types.FLOATS:
                attrs[attribute.name] = list(attribute.floats)
            case types.GRAPH:
                attrs[attribute.name] = attribute.g
            case types.STRINGS:
                attrs[attribute.name] = [text.decode() for text in attribute.strings]
            case types.TENSOR:
                attrs[attribute.name] = array_of(attribute.t)
            case _:
                attrs[attribute.name] = None
    return attrs


def array_of(tensor: pb.TensorProto) -> NDArray[Any]:
    """The elements of a tensor in a message; strings are bytes."""
    if NAMES[tensor.data_type] == "string":
        return np.array([*tensor.string_data, None], object)[:-1].reshape(tuple(tensor.dims))
    return np.frombuffer(tensor.raw_data, np.dtype(NAMES[tensor.data_type])).reshape(tuple(tensor.dims))


UNKNOWN = 64
"""What an unknown size counts for."""


class NotInLite(Error):
    """A node, or how it is used, cannot be said in TensorFlow Lite."""


@dataclass(frozen=True, slots=True, eq=False)
class IslandValue:
    """What a name of an ONNX model stands for: a tensor, or a constant."""

    sizes: tuple[Number, ...]
    """In ONNX's order of the axes; the models of an engine have known sizes."""
    tensor: int = -1
    order: tuple[int, ...] = ()
    """The axes as they lie in the tensor."""
    array: NDArray[Any] | None = None
    """The elements of a constant, which has no tensor yet; or expressions of unknown sizes."""
    dtype: str = "float32"
    has_rank: bool = True
    """Whether its sizes are known to be as many as these; only Flex ops read it otherwise."""

    @property
    def elements(self) -> Number:
        return math.prod(self.sizes)

    @property
    def weight(self) -> int:
        """About how many elements it has, for choosing the largest of several values."""
        return math.prod(UNKNOWN if isinstance(size, SizeExpression) else size for size in self.sizes)

    @property
    def is_of_sizes(self) -> bool:
        """Whether its elements are expressions of unknown sizes."""
        return self.array is not None and self.array.dtype == object

    def constant(self) -> NDArray[Any]:
        """The elements, which must be known."""
        if self.array is None or self.is_of_sizes:
            raise NotInLite("an input that must be constant is computed")
        return self.array

    def position(self, axis: int) -> int:
        """Where an axis lies in the tensor."""
        return self.order.index(axis % len(self.sizes))


def constant_value(array: NDArray[Any], dtype: str = "") -> IslandValue:
    return IslandValue(array.shape, array=array, dtype=dtype or array.dtype.name)


def plain_order(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The order of ONNX."""
    return tuple(range(len(sizes)))


def channels_last(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The order in which the second axis lies last."""
    return (0, *range(2, len(sizes)), 1)
