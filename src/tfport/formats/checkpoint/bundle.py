"""Read V2 checkpoints, which TensorFlow calls tensor bundles: an index and data shards.

`PREFIX.index` is a table with a header and an entry for each tensor: type, shape,
shard, offset, checksum. The bytes are in `PREFIX.data-00000-of-00002` and so on.
The entry of a partitioned variable lists slices, each of which has its own entry.
`bundle_shards` reads the bytes of an entry; it is imported when one is read.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tfport.errors import MissingTensor, UnreadableFile
from tfport.formats.checkpoint import slices
from tfport.formats.checkpoint.entry import (
    ITEM_SIZE,
    CheckpointEntry,
    check_version,
    missing,
    shape_from,
    shown,
)
from tfport.formats.checkpoint.slices import SLICE_KEY, Slice, encode_slice
from tfport.formats.checkpoint.table import SortedTable
from tfport.formats.files import Files
from tfport.formats.proto import checkpoint_pb2 as pb

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.formats.checkpoint.bundle_shards import Shards

MOST_SHARDS = 100_000
MANY = 32
"""After this many lookups one by one, a list of all tensors is faster."""


class Bundle:
    """The tensors of a V2 checkpoint."""

    def __init__(self, files: Files, prefix: str, table: SortedTable, header: bytes) -> None:
        self.files, self.prefix, self.table = files, prefix, table
        self.where = files.label(prefix)
        try:
            self.header = pb.BundleHeaderProto.FromString(header)
        except DecodeError:
            raise UnreadableFile(
                f"{table.label}: expected a checkpoint header, found {len(header)} other bytes"
            ) from None
        check_version(self.header.version, table.label)
        self._values: dict[str, memoryview] | None = None
        self._sought = 0
        self._opened: Shards | None = None

    def names(self) -> list[str]:
        return sorted(self._listed())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._value(name) is not None

    def entry(self, name: str) -> CheckpointEntry:
        proto = self._proto(name)
        shape = self._shape(name, proto)
        nbytes: int | None = proto.size
        if proto.slices:
            item = ITEM_SIZE.get(proto.dtype)
            nbytes = prod(shape) * item if item else None
        return CheckpointEntry(name, proto.dtype, shape, nbytes)

    def read(self, name: str) -> NDArray[Any]:
        """A tensor, joined from its slices if it is partitioned; otherwise a view of the file if possible."""
        proto = self._proto(name)
        shape = self._shape(name, proto)
        if proto.slices:
            return self._region(name, proto, slices.whole(shape))
        return self._stored(name, proto, shape)

    def read_slice(self, name: str, part: Slice) -> NDArray[Any]:
        """A part of a tensor; of a partitioned one, only the necessary slices are read."""
        proto = self._proto(name)
        shape = self._shape(name, proto)
        try:
            region = slices.within(part, shape)
        except ValueError as error:
            raise MissingTensor(f"{self.where}: tensor {shown(name)}: {error}") from None
        if proto.slices:
            return self._region(name, proto, region)
        return self._stored(name, proto, shape)[slices.select(region, slices.whole(shape))]

    def slices(self, name: str) -> list[Slice]:
        """The slices that a tensor is stored as; none if it is stored whole."""
        return [slices.from_proto(part) for part in self._proto(name).slices]

    def release_memory(self) -> None:
        """Release the memory of what was read; arrays of it stay valid."""
        if self._opened is not None:
            self._opened.release_memory()

    def shard_ends(self) -> dict[str, int]:
        """The files with the tensors, and the number of bytes of each that the index refers to."""
        count = self.header.num_shards
        ends = dict.fromkeys(range(min(count, MOST_SHARDS)), 0)
        for key, value in self._rows:
            if key:
                entry = self._parsed(key, value)
                ends[entry.shard_id] = max(ends.get(entry.shard_id, 0), entry.offset + entry.size)
        return {f"{self.prefix}.data-{shard:05}-of-{count:05}": end for shard, end in ends.items()}

    @cached_property
    def _rows(self) -> list[tuple[bytes, memoryview]]:
        return list(self.table.items())

    def _listed(self) -> dict[str, memoryview]:
        if self._values is None:
            rows = ((key, value) for key, value in self._rows if key and not key.startswith(SLICE_KEY))
            self._values = {self._decoded(key): value for key, value in rows}
        return self._values

    def _decoded(self, key: bytes) -> str:
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise UnreadableFile(
                f"{self.table.label}: expected a tensor's name in UTF-8, found {key[:80]!r}"
            ) from None

    def _value(self, name: str) -> memoryview | None:
        self._sought += 1
        if self._sought == MANY:
            with suppress(UnreadableFile):  # readable entries can still be looked up one by one
                self._listed()
        if self._values is not None:
            return self._values.get(name)
        try:
            key = name.encode()
        except UnicodeEncodeError:
            return None
        return self.table.get(key) if key and not key.startswith(SLICE_KEY) else None

    def _proto(self, name: str) -> pb.BundleEntryProto:
        if (value := self._value(name)) is None:
            raise missing(self.where, name, self.names())
        return self._parsed(name, value)

    def _parsed(self, name: str | bytes, value: memoryview) -> pb.BundleEntryProto:
        try:
            return pb.BundleEntryProto.FromString(bytes(value))
        except DecodeError:
            label = name if isinstance(name, str) else repr(name)
            raise self._bad(label, "an entry", f"{len(value)} other bytes") from None

    def _shape(self, name: str, proto: pb.BundleEntryProto) -> tuple[int, ...]:
        return shape_from(proto.shape, proto.dtype, self.table.label, name)

    def _bad(self, name: str, expected: str, actual: str) -> UnreadableFile:
        return UnreadableFile(
            f"{self.table.label}: tensor {shown(name)}: expected {expected}, found {actual}"
        )

    def _stored(self, name: str, proto: pb.BundleEntryProto, shape: tuple[int, ...]) -> NDArray[Any]:
        return self._shards().read(shown(name), proto, shape)

    def _shards(self) -> Shards:
        if self._opened is None:
            from tfport.formats.checkpoint.bundle_shards import Shards

            self._opened = Shards(self.files, self.prefix, self.header, self.table.label)
        return self._opened

    def _region(self, name: str, full: pb.BundleEntryProto, region: Slice) -> NDArray[Any]:
        needed = {
            part: proto for part, proto in self._parts(name, full).items() if slices.common(part, region)
        }
        shards = self._shards()
        limit = shards.size(shown(name), needed.values())
        reads = {
            part: partial(self._stored, name, proto, slices.shape_of(part)) for part, proto in needed.items()
        }
        try:
            return slices.join(region, shards.dtype(shown(name), full.dtype), reads, limit)
        except ValueError as error:
            raise self._bad(name, f"all of {list(slices.shape_of(region))}", str(error)) from None

    def _parts(self, name: str, full: pb.BundleEntryProto) -> dict[Slice, pb.BundleEntryProto]:
        """The entries of the slices of a tensor."""
        shape, parts = self._shape(name, full), {}
        for part in map(slices.from_proto, full.slices):
            try:
                region = slices.within(part, shape)
            except ValueError as error:
                raise UnreadableFile(f"{self.table.label}: tensor {shown(name)}: {error}") from None
            parts[region] = self._part(name, part, (full.dtype, slices.shape_of(region)))
        return parts

    def _part(self, name: str, part: Slice, expected: tuple[int, tuple[int, ...]]) -> pb.BundleEntryProto:
        if (value := self.table.get(encode_slice(name, part))) is None:
            raise self._bad(name, f"slice {slices.text(part)}", "none")
        proto = self._parsed(name, value)
        if (actual := (proto.dtype, self._shape(name, proto))) != expected:
            texts = [f"type {dtype} and shape {list(shape)}" for dtype, shape in (expected, actual)]
            raise self._bad(name, f"slice {slices.text(part)} to have {texts[0]}", texts[1])
        return proto
