"""The elements of an HDF5 dataset: in one piece, in its header, or in chunks that may be compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datatypes import read_attributes, read_shape, read_type, read_values
from tfport.formats.hdf5.heaps import CHUNKS, GlobalHeaps
from tfport.formats.hdf5.objects import HeaderMessage, MessageType
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.formats.hdf5.trees import leaves
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL = 0, 1, 2, 3
SINGLE_CHUNK, IMPLICIT = 1, 2
DEFLATE, SHUFFLE, CHECKSUM = 1, 2, 3
FILTERS = {4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32015: "zstd"}
MOST_RATIO = 1032
"""Deflate expands at most this much."""
HARMLESS = 1 << 26
"""Arrays up to this size may be larger than the file can store."""
REPACK = "write it again with `h5repack -f GZIP=4`"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored part of a dataset."""

    start: tuple[int, ...]
    address: int
    size: int
    skipped: int = 0
    """Bits of the filters that were not applied."""


class Hdf5Dataset:
    """An array of an HDF5 file. Its elements are read on request."""

    def __init__(
        self, source: Hdf5Bytes, path: str, messages: list[HeaderMessage], heaps: GlobalHeaps
    ) -> None:
        self.source, self.path, self.messages, self.heaps = source, path, messages, heaps
        shape = read_shape(self._message(MessageType.DATASPACE))
        self.shape = (0,) if shape is None else shape
        self.type = read_type(self._message(MessageType.DATATYPE))

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes by name; None for those of types that are not read."""
        return read_attributes(self.source, self.messages, self.heaps)

    @property
    def nbytes(self) -> int:
        """The size of the elements as stored, without compression."""
        return prod(self.shape) * self.type.size

    @property
    def is_impossible(self) -> bool:
        """Whether the file is too small for the shape, however it is compressed."""
        return self.nbytes > max(HARMLESS, MOST_RATIO * len(self.source.data))

    @property
    def external(self) -> str:
        """For a dataset whose elements are in other files: what it is, for messages."""
        has_files = any(m.type == MessageType.EXTERNAL_FILES for m in self.messages)
        return "a dataset whose elements are in another file" if has_files else ""

    @property
    def is_virtual(self) -> bool:
        """Whether its elements are parts of other datasets, also of other files."""
        layout = self._message(MessageType.LAYOUT)
        return layout.uint(1) > 2 and layout.uint(1) == VIRTUAL

    def read(self) -> NDArray[Any]:
        """The elements, read-only where they are not copied."""
        if self.external:
            raise UnreadableFile(
                f"{self.source.where}: {self.path}: {self.external}; tfport does not open it"
            )
        if self.is_impossible:
            raise self._too_large()
        array = self._elements()
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def _too_large(self) -> UnreadableFile:
        return UnreadableFile(
            f"{self.source.where}: {self.path}: the shape {list(self.shape)} needs {self.nbytes} bytes, "
            f"but the file of {len(self.source.data)} bytes stores fewer"
        )

    def _elements(self) -> NDArray[Any]:
        layout = self._message(MessageType.LAYOUT)
        if (version := layout.uint(1)) in (1, 2):
            return self._old_layout(layout)
        if version not in (3, 4, 5):
            raise layout.error(f"the layout of {self.path} has version {version}")
        kind = layout.uint(1)
        if kind == COMPACT:
            return self._values(layout.part(layout.uint(2), self.path))
        if kind == CONTIGUOUS:
            return self._contiguous(layout.offset())
        if kind != CHUNKED:
            raise layout.error(f"{self.path} has the storage class {kind}, which tfport cannot read")
        if version == 3:
            rank = layout.uint(1)
            tree = layout.offset()
            return self._chunked(_sizes(layout, rank, 4), self._from_tree(tree, rank))
        return self._new_chunks(layout)

    def _old_layout(self, layout: Cursor) -> NDArray[Any]:
        rank, kind = layout.uint(1), layout.uint(1)
        layout.skip(5)
        address = 0 if kind == COMPACT else layout.offset()
        sizes = _sizes(layout, rank, 4)
        if kind == COMPACT:
            return self._values(layout.part(layout.uint(4), self.path))
        if kind == CONTIGUOUS:
            return self._contiguous(address)
        return self._chunked(sizes, self._from_tree(address, rank))

    def _contiguous(self, address: int) -> NDArray[Any]:
        if self.source.is_undefined(address) or not self.nbytes:
            return self._filled()
        return self._values(self.source.cursor(address, self.nbytes, self.path))

    def _values(self, data: Cursor) -> NDArray[Any]:
        return read_values(data, self.type, self.shape, self.heaps)

    def _filled(self, stored: int = 0) -> NDArray[Any]:
        """The array without its elements, if at most `stored` bytes of them can follow."""
        if self.nbytes > max(HARMLESS, stored):
            raise self._too_large()
        if self.type.is_text:
            return np.full(self.shape, b"", object)
        return np.zeros(self.shape, self._dtype)

    @property
    def _dtype(self) -> np.dtype[Any]:
        if self.type.dtype is None:
            raise UnreadableFile(
                f"{self.source.where}: {self.path}: elements of {self.type.name}, which tfport cannot read"
            )
        return self.type.dtype

    def _from_tree(self, address: int, rank: int) -> Iterator[Chunk]:
        """The chunks in a B-tree, whose keys have an offset more than the dataset has axes."""
        if self.source.is_undefined(address):
            return
        for key, chunk_address in leaves(self.source, address, CHUNKS, 8 + 8 * rank):
            size, skipped = key.uint(4), key.uint(4)
            start = tuple(key.uint(8) for _ in range(rank - 1))
            yield Chunk(start, chunk_address, size, skipped)

    def _new_chunks(self, layout: Cursor) -> NDArray[Any]:
        """The layout that HDF5 1.10 and later write if compatibility is not asked for."""
        flags, rank, width = layout.uint(1), layout.uint(1), layout.uint(1)
        sizes = _sizes(layout, rank, width)
        index = layout.uint(1)
        start = (0,) * (rank - 1)
        if index == SINGLE_CHUNK:
            size, skipped = (layout.length(), layout.uint(4)) if flags & 2 else (prod(sizes), 0)
            return self._chunked(sizes, iter([Chunk(start, layout.offset(), size, skipped)]))
        if index == IMPLICIT:
            return self._chunked(sizes, self._in_order(layout.offset(), sizes))
        raise UnreadableFile(
            f"{self.source.where}: {self.path}: chunks with an index of HDF5 1.10, which tfport cannot read; "
            "write it again with `h5repack --high=1`"
        )

    def _in_order(self, address: int, sizes: tuple[int, ...]) -> Iterator[Chunk]:
        if self.source.is_undefined(address):
            return
        counts = [-(-n // size) for n, size in zip(self.shape, sizes, strict=False)]
        self.source.take(address, prod(counts) * prod(sizes), self.path)
        for number, position in enumerate(np.ndindex(*counts)):
            start = tuple(n * size for n, size in zip(position, sizes, strict=False))
            yield Chunk(start, address + number * prod(sizes), prod(sizes))

    def _chunked(self, sizes: tuple[int, ...], chunks: Iterator[Chunk]) -> NDArray[Any]:
        """The array that chunks of a size make; the last size is that of an element."""
        shape = sizes[:-1]
        nbytes = prod(shape) * self.type.size
        if len(shape) != len(self.shape) or not nbytes or nbytes > max(HARMLESS, 2 * self.nbytes):
            raise UnreadableFile(
                f"{self.source.where}: {self.path}: chunks of the shape {list(shape)} do not fit "
                f"an array of the shape {list(self.shape)}"
            )
        filters = self._filters()
        stored = list(chunks)
        out = self._filled(MOST_RATIO * sum(chunk.size for chunk in stored))
        for chunk in stored:
            data = self.source.take(chunk.address, chunk.size, self.path)
            self._place(out, chunk, shape, self._decode(data, chunk, filters, nbytes))
        return out

    def _place(self, out: NDArray[Any], chunk: Chunk, shape: tuple[int, ...], data: memoryview) -> None:
        if any(
            at % n or at >= max(size, 1) for at, n, size in zip(chunk.start, shape, self.shape, strict=True)
        ):
            raise self.source.error(chunk.address, f"{self.path} has a chunk at {list(chunk.start)}")
        cursor = Cursor(self.source, data, self.source.base + chunk.address, self.path)
        values = read_values(cursor, self.type, shape, self.heaps)
        ends = [min(at + n, size) for at, n, size in zip(chunk.start, shape, self.shape, strict=True)]
        inside = tuple(slice(0, end - at) for at, end in zip(chunk.start, ends, strict=True))
        out[tuple(slice(at, end) for at, end in zip(chunk.start, ends, strict=True))] = values[inside]

    def _filters(self) -> list[int]:
        if not any(message.type == MessageType.FILTERS for message in self.messages):
            return []
        cursor = self._message(MessageType.FILTERS)
        version, count = cursor.uint(1), cursor.uint(1)
        cursor.skip(6 if version == 1 else 0)
        filters = []
        for _ in range(count):
            filters.append(number := cursor.uint(2))
            name = cursor.uint(2) if version == 1 or number >= 256 else 0
            values = cursor.skip(2).uint(2)
            cursor.skip(-(-name // 8) * 8 if version == 1 else name).skip(4 * values)
            cursor.skip(4 if version == 1 and values % 2 else 0)
        for number in filters:
            if number not in (DEFLATE, SHUFFLE, CHECKSUM):
                raise UnreadableFile(
                    f"{self.source.where}: {self.path}: compressed with "
                    f"{FILTERS.get(number, f'the filter {number}')}, which tfport cannot read; {REPACK}"
                )
        return filters

    def _decode(self, data: memoryview, chunk: Chunk, filters: list[int], nbytes: int) -> memoryview:
        """The bytes of a chunk with its filters undone, at most `nbytes` and a checksum."""
        for number, kind in reversed(list(enumerate(filters))):
            if chunk.skipped >> number & 1:
                continue
            if kind == DEFLATE:
                data = self._inflate(data, chunk, nbytes + 4)
            elif kind == SHUFFLE:
                data = _unshuffle(data, self.type.size)
            else:
                data = data[: max(0, len(data) - 4)]
        return data

    def _inflate(self, data: memoryview, chunk: Chunk, most: int) -> memoryview:
        try:
            return memoryview(zlib.decompressobj().decompress(data, most))
        except zlib.error as error:
            raise self.source.error(self.source.base + chunk.address, f"{self.path}: {error}") from None

    def _message(self, kind: MessageType) -> Cursor:
        for message in self.messages:
            if message.type == kind and not message.is_shared:
                return message.cursor(self.source, f"{kind.name.lower()} of {self.path}")
        raise UnreadableFile(
            f"{self.source.where}: {self.path}: the dataset has no {kind.name.lower()}, or it is shared"
        )


def _sizes(cursor: Cursor, rank: int, width: int) -> tuple[int, ...]:
    return tuple(cursor.uint(width) for _ in range(rank))


def _unshuffle(data: memoryview, size: int) -> memoryview:
    """Bytes in their order again: the first byte of all elements was stored first, and so on."""
    whole = len(data) // size * size
    columns = np.frombuffer(data[:whole], np.uint8).reshape(size, -1)
    return memoryview(columns.T.tobytes() + bytes(data[whole:]))
