"""Shapes with possibly unknown sizes or rank."""

from __future__ import annotations

import functools

from tfport.formats.proto import graph_pb2 as pb
from tfport.startup.dataclass import dataclass

MOST = 1 << 63


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape: `(?, 224, 3)` has an unknown first size, `(...)` an unknown rank."""

    dims: tuple[int | None, ...] | None = None
    names: tuple[str, ...] = ()
    """The names of the axes in the file; almost always empty."""

    @staticmethod
    def from_proto(proto: pb.TensorShapeProto) -> Shape:
        return _shape_in(proto.SerializeToString())

    def to_proto(self) -> pb.TensorShapeProto:
        if self.dims is None:
            return pb.TensorShapeProto(unknown_rank=True)
        proto = pb.TensorShapeProto()
        for i, size in enumerate(self.dims):
            name = self.names[i] if self.names else ""
            proto.dim.add(size=-1 if size is None else size, name=name)
        return proto

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    @property
    def size(self) -> int | None:
        """The number of elements, if it is known and less than 2**63."""
        if self.dims is None or None in self.dims:
            return None
        size = int(0 not in self.dims)
        for dim in self.dims:
            size *= dim or 0
            if size > MOST:
                return None
        return size

    def fits(self, other: Shape) -> bool:
        """Whether both can be the shape of the same tensor."""
        if self.dims is None or other.dims is None:
            return True
        pairs = zip(self.dims, other.dims, strict=False)
        return len(self.dims) == len(other.dims) and all(a is None or b is None or a == b for a, b in pairs)

    def __str__(self) -> str:
        if self.dims is None:
            return "(...)"
        inner = ", ".join("?" if d is None else str(d) for d in self.dims)
        return f"({inner},)" if len(self.dims) == 1 else f"({inner})"


UNKNOWN = Shape(None)


@functools.lru_cache(4096)
def _shape_in(data: bytes) -> Shape:
    """The shape in a serialized message; a graph states few shapes, each many times."""
    proto = pb.TensorShapeProto.FromString(data)
    if proto.unknown_rank:
        return UNKNOWN
    sizes, names = [], []
    for dim in proto.dim:
        sizes.append(None if dim.size < 0 else dim.size)
        names.append(dim.name)
    return Shape(tuple(sizes), tuple(names) if any(names) else ())
