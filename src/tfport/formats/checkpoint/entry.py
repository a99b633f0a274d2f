"""The type, shape and size of a tensor in a checkpoint of either version, and the errors of reading one."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from tfport.errors import MissingTensor, UnreadableFile
from tfport.formats.checkpoint.table import SortedTable
from tfport.formats.proto import graph_pb2 as pb
from tfport.startup.dataclass import dataclass

ITEM_SIZE: dict[int, int] = {
    **dict.fromkeys((pb.DT_COMPLEX128,), 16),
    **dict.fromkeys((pb.DT_DOUBLE, pb.DT_INT64, pb.DT_UINT64, pb.DT_COMPLEX64), 8),
    **dict.fromkeys((pb.DT_FLOAT, pb.DT_INT32, pb.DT_UINT32, pb.DT_QINT32), 4),
    **dict.fromkeys(
        (pb.DT_HALF, pb.DT_BFLOAT16, pb.DT_INT16, pb.DT_UINT16, pb.DT_QINT16, pb.DT_QUINT16), 2),
    **dict.fromkeys(
        (pb.DT_BOOL, pb.DT_INT8, pb.DT_UINT8, pb.DT_QINT8, pb.DT_QUINT8, pb.DT_FLOAT8_E5M2,
         pb.DT_FLOAT8_E4M3FN, pb.DT_FLOAT8_E4M3FNUZ, pb.DT_FLOAT8_E4M3B11FNUZ, pb.DT_FLOAT8_E5M2FNUZ,
         pb.DT_INT4, pb.DT_UINT4, pb.DT_INT2, pb.DT_UINT2, pb.DT_FLOAT4_E2M1FN), 1),
}  # fmt: skip
"""Bytes per element in a file; listed here so that listing a checkpoint does not import NumPy."""
VERSION = 1  # of either format; there is no other yet
MOST_BYTES = 2**62
MOST_AXES = 32  # the limit of NumPy before version 2


@dataclass(frozen=True, slots=True)
class CheckpointEntry:
    """The type, shape and size of a tensor in a checkpoint."""

    name: str
    dtype: int
    """The number of a DataType."""
    shape: tuple[int, ...]
    nbytes: int | None
    """The size in the file, if it is known."""


def first_value(table: SortedTable) -> bytes:
    if (value := table.get(b"")) is None:
        raise UnreadableFile(f"{table.label}: a table without a header, so not a checkpoint")
    return bytes(value)


def shape_from(proto: pb.TensorShapeProto, dtype: int, label: str, name: str) -> tuple[int, ...]:
    """A shape, if an array can have it; else an error."""
    shape = _shape_in(proto.SerializeToString(), dtype)
    if isinstance(shape, tuple):
        return shape
    raise UnreadableFile(
        f"{label}: tensor {shown(name)}: expected a shape that an array can have, found {shape}"
    )


@lru_cache(maxsize=4096)
def _shape_in(data: bytes, dtype: int) -> tuple[int, ...] | str:
    """The shape in a serialized message, or what is there instead; a checkpoint has many tensors of one."""
    proto = pb.TensorShapeProto.FromString(data)
    shape = tuple([dim.size for dim in proto.dim])
    if proto.unknown_rank:
        return "an unknown rank"
    if len(shape) > MOST_AXES:
        return f"{len(shape)} axes"
    size = prod([max(n, 1) for n in shape]) * ITEM_SIZE.get(dtype, 16)
    return shape if min(shape, default=0) >= 0 and size <= MOST_BYTES else str(list(shape))


def check_version(version: pb.VersionDef, label: str) -> None:
    if version.min_consumer > VERSION or VERSION in version.bad_consumers:
        needed = f"one for readers of {version.min_consumer} or later"
        raise UnreadableFile(f"{label}: expected checkpoint format {VERSION}, found {needed}")


def missing(where: str, name: str, names: list[str]) -> MissingTensor:
    """The error for an unknown tensor, with similar names."""
    from difflib import get_close_matches  # imported here, as only errors need it

    # matching is quadratic in the length of a name
    near = get_close_matches(name, (n for n in names if len(n) < 300), 3) if len(name) < 300 else []
    for likely in (name, "".join(name.rpartition("/")[:2])):  # the name in another scope, names in its scope
        near = near or [n for n in names if likely and likely in n][:3]
    hint = f"; similar names: {', '.join(map(shown, near))}" if near else ""
    return MissingTensor(f"{where}: no tensor {shown(name)}{hint}")


def shown(name: str) -> str:
    """The name of a tensor for a message."""
    return name if name.isprintable() and name else repr(name)
