"""Read the tensors of a bundle from its data shards, and verify their checksums.

A shard is mapped when the first tensor in it is read. The sizes in an entry are
compared with the size of the file before memory is allocated.
`bundle_data` decodes the bytes of a tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.tensor import NUMPY, type_name
from tfport.formats.encoding.wire import from_varint, to_varint
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
        dtype = self.numpy_dtype(name, entry.dtype)
        if not dtype.hasobject and entry.size != (size := prod(shape) * dtype.itemsize):
            raise self._bad(name, f"{size} bytes of {dtype} {list(shape)}", f"{entry.size}")
        raw, label = self._bytes(name, entry)
        if dtype.hasobject:
            array, crc = to_strings(raw, shape, self.order, f"{label}: tensor {name}")
        else:
            array, crc = to_array(raw, dtype, shape, self.order), checksum(raw)
        if masked(crc) != entry.crc32c:
            raise UnreadableFile(
                f"{label}: tensor {name}: expected checksum {entry.crc32c:08x}, found {masked(crc):08x}"
            )
        return array

    def numpy_dtype(self, name: str, dtype: int) -> np.dtype[Any]:
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


# Convert the bytes of one tensor in a data shard to an array and back.
#
# Elements are stored as in memory, in the byte order of the machine that wrote
# them. Strings are stored as their lengths, a checksum of the lengths, then their
# bytes; the checksum of the tensor covers the lengths as fixed-size numbers.
# `bundle` knows the offsets of the tensors.

Order = Literal["little", "big"]


def to_array(raw: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], order: Order) -> NDArray[Any]:
    """The elements as a read-only array: a view of `raw` if byte order and alignment allow it."""
    flat = np.frombuffer(raw, np.uint8)
    if order != sys.byteorder:
        # the two parts of a complex number are swapped separately
        word = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
        flat = np.ascontiguousarray(flat.reshape(-1, word)[:, ::-1]).reshape(-1)
    elif flat.ctypes.data % dtype.alignment:
        flat = flat.copy()
    out = flat.view(dtype).reshape(shape)
    out.flags.writeable = False
    return out


def to_bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array; a contiguous array is not copied."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def to_strings(raw: memoryview, shape: tuple[int, ...], order: Order, what: str) -> tuple[NDArray[Any], int]:
    """The strings as an array of `bytes`, and their checksum. `what` is the start of error messages."""
    lengths, at = read_lengths(raw, prod(shape), what)
    crc = checksum_of_lengths(lengths, order)
    stored, computed = int.from_bytes(raw[at : at + 4], order), masked(crc)
    if stored != computed:
        raise UnreadableFile(
            f"{what}: expected string lengths with checksum {stored:08x}, found {computed:08x}"
        )
    at += 4
    if at + sum(lengths) != len(raw):
        raise UnreadableFile(
            f"{what}: expected {len(raw) - at} bytes of strings, found lengths of {sum(lengths)}"
        )
    crc = checksum(raw[at - 4 :], crc)
    out = np.empty(len(lengths), object)
    for i, length in enumerate(lengths):
        out[i] = bytes(raw[at : at + length])
        at += length
    out = out.reshape(shape)
    out.flags.writeable = False
    return out, crc


def read_lengths(raw: memoryview, count: int, what: str) -> tuple[list[int], int]:
    """The lengths of `count` strings, and where they end."""
    if count + 4 > len(raw):  # before memory is allocated
        raise UnreadableFile(f"{what}: expected {count} strings, found {len(raw)} bytes")
    lengths, at = [], 0
    try:
        for _ in range(count):
            length, at = from_varint(raw, at)
            lengths.append(length)
    except ValueError:
        raise UnreadableFile(f"{what}: expected {count} strings, found {len(lengths)} lengths") from None
    return lengths, at


def from_strings(array: NDArray[Any], name: str) -> tuple[bytes, int]:
    """The bytes that store strings, and their checksum."""
    strings = [to_string(s, name) for s in array.ravel().tolist()]
    lengths = [len(s) for s in strings]
    crc = checksum_of_lengths(lengths, sys.byteorder)
    tail = masked(crc).to_bytes(4, sys.byteorder) + b"".join(strings)
    return b"".join(map(to_varint, lengths)) + tail, checksum(tail, crc)


def to_string(value: object, name: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise Error(f"tensor {name}: expected bytes or str, found {type(value).__name__}")
    return value


def checksum_of_lengths(lengths: Iterable[int], order: Order) -> int:
    """The checksum of lengths as four bytes each, or eight if four are too few."""
    # eight bytes were added later, compatible with old checkpoints (ReadStringTensor)
    return checksum(b"".join(n.to_bytes(4 if n < 2**32 else 8, order) for n in lengths))
