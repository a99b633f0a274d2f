"""Read V1 checkpoints: tables with a list of tensors and their values.

The first value of each file lists its tensors and their slices; a whole tensor
is one slice. The values follow, one `SavedTensorSlices` message for each slice,
under a key built by `slice_keys`. A sharded checkpoint is several such files.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint import slices
from tfport.formats.checkpoint.entry import (
    ITEM_SIZE,
    CheckpointEntry,
    check_version,
    first_value,
    missing,
    shape_from,
    shown,
)
from tfport.formats.checkpoint.slices import Slice, encode_slice
from tfport.formats.checkpoint.table import SortedTable
from tfport.formats.proto import checkpoint_pb2 as pb
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True)
class SlicedTensor:
    """A tensor, and the table that contains each of its slices."""

    dtype: int
    shape: tuple[int, ...]
    parts: dict[Slice, SortedTable] = field(default_factory=dict)


class CheckpointV1:
    """The tensors of a V1 checkpoint."""

    def __init__(self, tables: list[SortedTable], where: str) -> None:
        self.where = where
        self._saved: dict[str, SlicedTensor] = {}
        for table in tables:
            meta = self._parsed(table, first_value(table)).meta
            check_version(meta.versions, table.label)
            for tensor in meta.tensor:
                self._add(table, tensor)

    def names(self) -> list[str]:
        return sorted(self._saved)

    def __contains__(self, name: object) -> bool:
        return name in self._saved

    def entry(self, name: str) -> CheckpointEntry:
        saved = self._find(name)
        item = ITEM_SIZE.get(saved.dtype)
        return CheckpointEntry(name, saved.dtype, saved.shape, prod(saved.shape) * item if item else None)

    def read(self, name: str) -> NDArray[Any]:
        return self.read_slice(name, ((0, slices.ALL),) * len(self._find(name).shape))

    def release_memory(self) -> None:
        """Nothing to do: values of this format are copied when they are read."""

    def read_slice(self, name: str, part: Slice) -> NDArray[Any]:
        """A part of a tensor; of a partitioned one, only the necessary slices are read."""
        from tfport.formats.encoding.tensor import NUMPY, type_name

        saved = self._find(name)
        if saved.dtype not in NUMPY:
            raise self._bad(name, "a type that NumPy supports", type_name(saved.dtype))
        # an element takes at least a byte in the file and at most sixteen in an array
        limit = 16 * sum(len(table.data) for table in set(saved.parts.values()))
        try:
            region = slices.within(part, saved.shape)
            reads = {
                slices.within(stored, saved.shape): partial(self._part, name, saved, stored)
                for stored in saved.parts
            }
            return slices.join(region, NUMPY[saved.dtype], reads, limit)
        except ValueError as error:
            raise self._bad(name, f"all of {list(saved.shape)}", str(error)) from None

    def _add(self, table: SortedTable, tensor: pb.SavedSliceMeta) -> None:
        shape = shape_from(tensor.shape, tensor.type, table.label, tensor.name)
        saved = self._saved.setdefault(tensor.name, SlicedTensor(tensor.type, shape))
        if (saved.dtype, saved.shape) != (tensor.type, shape):
            raise self._bad(tensor.name, "one type and shape", f"another in {table.label}")
        for part in map(slices.from_proto, tensor.slice):
            saved.parts[part] = table

    def _find(self, name: str) -> SlicedTensor:
        if name not in self._saved:
            raise missing(self.where, name, self.names())
        return self._saved[name]

    def _part(self, name: str, saved: SlicedTensor, part: Slice) -> NDArray[Any]:
        from tfport.formats.encoding.tensor import NUMPY, from_content, from_list

        table = saved.parts[part]
        if (value := table.get(encode_slice(name, part))) is None:
            raise UnreadableFile(
                f"{table.label}: tensor {shown(name)}: expected slice {slices.text(part)}, found none"
            )
        proto = self._parsed(table, value).data.data
        proto.dtype = saved.dtype  # type: ignore[assignment]  # only the list of tensors has the type
        dtype, shape = NUMPY[saved.dtype], slices.shape_of(slices.within(part, saved.shape))
        content = proto.tensor_content  # each access of the field is a copy
        flat = from_content(content, dtype) if content else from_list(proto, dtype)
        if len(flat) != prod(shape):
            raise self._bad(name, f"{prod(shape)} elements in slice {slices.text(part)}", str(len(flat)))
        flat.flags.writeable = False
        return flat.reshape(shape)

    def _parsed(self, table: SortedTable, value: bytes | memoryview) -> pb.SavedTensorSlices:
        try:
            return pb.SavedTensorSlices.FromString(bytes(value))
        except DecodeError:
            raise UnreadableFile(
                f"{table.label}: expected saved tensor slices, found {len(value)} other bytes"
            ) from None

    def _bad(self, name: str, expected: str, actual: str) -> UnreadableFile:
        return UnreadableFile(f"{self.where}: tensor {shown(name)}: expected {expected}, found {actual}")
