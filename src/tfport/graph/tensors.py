"""Constant tensors in a graph: type and shape, and the elements on request."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import STRING, DType
from tfport.graph.shapes import Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_STRINGS = 1 << 24
MOST_AXES = 2
_INTEGERS = {"int32": ("i", "int_val"), "int64": ("q", "int64_val")}
"""The code of `struct` for raw bytes, and the list for other elements, by type."""
_DESCRIBING = ("dtype", "tensor_shape", "version_number")
"""The fields of a TensorProto without elements."""


class Tensor:
    """An immutable tensor: a TensorProto, or a function that returns its array."""

    __slots__ = ("_load", "_proto", "dtype", "shape")

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        *,
        proto: pb.TensorProto | None = None,
        load: Callable[[], NDArray[Any]] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self._proto = proto
        self._load = load

    @classmethod
    def from_proto(cls, proto: pb.TensorProto) -> Tensor:
        return cls(DType.of(proto.dtype), Shape.from_proto(proto.tensor_shape), proto=proto)

    @classmethod
    def from_numpy(cls, array: NDArray[Any], dtype: DType) -> Tensor:
        return cls(dtype, Shape(array.shape), load=lambda: array)

    def numpy(self) -> NDArray[Any]:
        """The elements; strings are `bytes` in an object array."""
        if self._load is not None:
            return self._load()
        from tfport.formats.encoding.tensor import to_numpy

        assert self._proto is not None
        try:
            return to_numpy(self._proto)
        except MemoryError:
            raise UnreadableFile(
                f"a {self.dtype} tensor of shape {self.shape} is too large for the memory"
            ) from None

    def to_proto(self) -> pb.TensorProto:
        if self._proto is not None:
            return self._proto
        from tfport.formats.encoding.tensor import from_numpy

        return from_numpy(self.numpy(), self.dtype.number)

    def write_to(self, proto: pb.TensorProto) -> None:
        """Write it into an empty TensorProto."""
        if self._proto is not None:
            proto.CopyFrom(self._proto)
            return
        from tfport.formats.encoding.tensor import write_array

        write_array(self.numpy(), self.dtype.number, proto)

    def strings(self) -> list[bytes]:
        """The elements of a string tensor, in order; does not import NumPy."""
        size = self.shape.size
        if self._proto is not None and len(self._proto.string_val) == size:
            return list(self._proto.string_val)
        if self.dtype != STRING or size is None or size > MOST_STRINGS:
            raise UnreadableFile(
                f"expected a list of strings, found a {self.dtype} tensor of shape {self.shape}"
            )
        return [bytes(s) for s in self.numpy().ravel()]

    def integers(self) -> list[int]:
        """The elements of an integer tensor, in order; imports NumPy for rare encodings only."""
        elements = _INTEGERS.get(self.dtype.name)
        size = self.shape.size if (self.shape.rank or 0) <= MOST_AXES else None
        if self._proto is not None and elements is not None and size is not None:
            code, typed_list = elements
            content, values = self._proto.tensor_content, getattr(self._proto, typed_list)
            if content and len(content) == size * struct.calcsize(f"<{code}"):
                return list(struct.unpack(f"<{size}{code}", content))
            if not content and len(values) == size:
                return list(values)
        return [int(value) for value in self.numpy().ravel()]

    @property
    def is_array(self) -> bool:
        """Whether its elements are those of an array, not of a TensorProto."""
        return self._load is not None

    @property
    def is_stripped(self) -> bool:
        """Whether its file has none of the elements that its shape promises; TensorFlow reads zeros then."""
        if self._proto is None or self.shape.size == 0:
            return False
        return not any(field.name not in _DESCRIBING for field, _ in self._proto.ListFields())

    @property
    def is_listed(self) -> bool:
        """Whether its file has the elements in a list of their type, not as raw bytes."""
        return self._proto is not None and not self._proto.tensor_content and not self.is_stripped

    @property
    def nbytes(self) -> int:
        """The size of the elements in the file, if they are in the graph."""
        return self._proto.ByteSize() if self._proto is not None else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor) or (self.dtype, self.shape) != (other.dtype, other.shape):
            return False
        if self._proto is not None and self._proto == other._proto:
            return True
        ours, theirs = self.numpy(), other.numpy()
        return (
            ours.tolist() == theirs.tolist() if ours.dtype.hasobject else ours.tobytes() == theirs.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}, {self.shape})"
