"""Read the tensors of a bundle from its data shards, and verify their checksums.

A shard is mapped when the first tensor in it is read. The sizes in an entry are
compared with the size of the file before memory is allocated.
`bundle_data` decodes the bytes of a tensor.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.bundle_data import Order, to_array, to_strings
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.tensor import NUMPY, type_name
from tfport.formats.files import Files, release_mapped
from tfport.formats.proto import checkpoint_pb2 as pb

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Shards:
    """The shards of one bundle. `index` names the index file in messages."""

    def __init__(self, files: Files, prefix: str, header: pb.BundleHeaderProto, index: str) -> None:
        self.files, self.prefix, self.index = files, prefix, index
        self.count = header.num_shards
        self.order: Order = "big" if header.endianness else "little"
        self._maps: dict[str, memoryview] = {}

    def read(self, name: str, entry: pb.BundleEntryProto, shape: tuple[int, ...]) -> NDArray[Any]:
        """The tensor of an entry, read-only."""
        kind = self.kind(name, entry.dtype)
        if not kind.hasobject and entry.size != (size := prod(shape) * kind.itemsize):
            raise self._bad(name, f"{size} bytes of {kind} {list(shape)}", f"{entry.size}")
        raw, label = self._bytes(name, entry)
        if kind.hasobject:
            array, crc = to_strings(raw, shape, self.order, f"{label}: tensor {name}")
        else:
            array, crc = to_array(raw, kind, shape, self.order), checksum(raw)
        if masked(crc) != entry.crc32c:
            raise UnreadableFile(
                f"{label}: tensor {name}: expected checksum {entry.crc32c:08x}, found {masked(crc):08x}"
            )
        return array

    def kind(self, name: str, dtype: int) -> np.dtype[Any]:
        """The NumPy type of a DataType."""
        if dtype not in NUMPY:
            raise self._bad(name, "a type that NumPy supports", type_name(dtype))
        return NUMPY[dtype]

    def size(self, name: str, entries: Iterable[pb.BundleEntryProto]) -> int:
        """The bytes of the shards that these entries are in, each counted once."""
        shards = {self._shard(name, entry) for entry in entries}
        return sum(len(self._map(name, shard)) for shard in shards)

    def release_memory(self) -> None:
        """Release the memory of what was read; it is read from the file again when needed."""
        for view in self._maps.values():
            release_mapped(view)

    def _bytes(self, name: str, entry: pb.BundleEntryProto) -> tuple[memoryview, str]:
        shard = self._shard(name, entry)
        data, label, end = self._map(name, shard), self.files.label(shard), entry.offset + entry.size
        if entry.offset < 0 or entry.size < 0 or end > len(data):
            raise UnreadableFile(
                f"{label}: expected tensor {name} at bytes {entry.offset} to {end}, found {len(data)} bytes"
            )
        return data[entry.offset : end], label

    def _shard(self, name: str, entry: pb.BundleEntryProto) -> str:
        if not 0 <= entry.shard_id < self.count:
            raise self._bad(name, f"one of {self.count} shards", f"shard {entry.shard_id}")
        return f"{self.prefix}.data-{entry.shard_id:05}-of-{self.count:05}"

    def _map(self, name: str, shard: str) -> memoryview:
        if shard not in self._maps:
            if not self.files.has(shard):
                raise UnreadableFile(f"{self.files.label(shard)}: missing; tensor {name} is in it")
            self._maps[shard] = self.files.map(shard)
        return self._maps[shard]

    def _bad(self, name: str, expected: str, actual: str) -> UnreadableFile:
        return UnreadableFile(f"{self.index}: tensor {name}: expected {expected}, found {actual}")
