"""Datasets that read files of the model, or parse the `tf.train.Example` messages they contain."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.graph.dtypes import STRING
from tfport.graph.shapes import Shape
from tfport.runtime.ops.data.dataset import Dataset, Element, whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.data.mapped import Map
from tfport.runtime.ops.io.kernels.parse_example import as_keys, parse_example_v2
from tfport.runtime.ops.io.kernels.serialized import SerializedPart
from tfport.runtime.ops.io.unpacked_sizes import inflated
from tfport.runtime.ops.ragged.kernels.variants import RaggedVariant
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import scalar_value
from tfport.startup.dataclass import dataclass


def _files(filenames, compression_type, cut, context):
    if filenames.ndim > 1:
        raise RunFailed(f"filenames must be a scalar or a vector, found shape {list(filenames.shape)}")
    compression = scalar_value(compression_type, "compression_type")
    return RecordFiles(filenames.reshape(-1).tolist(), compression, context.state.read_file, cut)


@dataset("TextLineDataset")
def text_line_dataset(filenames, compression_type, buffer_size, *, context):
    return _files(filenames, compression_type, lines, context)


@dataset("TFRecordDataset")
def tf_record_dataset(filenames, compression_type, buffer_size, *, context):
    return _files(filenames, compression_type, records(lambda path: 0), context)


@dataset("TFRecordDatasetV2")
def tf_record_dataset_v2(filenames, compression_type, buffer_size, byte_offsets, *, context):
    offsets = byte_offsets.reshape(-1).tolist()
    names = [name.decode(errors="replace") for name in filenames.reshape(-1).tolist()]
    if len(offsets) not in (0, len(names)):
        raise RunFailed(f"{len(offsets)} byte_offsets for {len(names)} filenames")
    starts = dict(zip(names, offsets, strict=False))
    return _files(filenames, compression_type, records(lambda path: starts.get(path, 0)), context)


@dataset("FixedLengthRecordDataset")
def fixed_length_record_dataset(filenames, header_bytes, record_bytes, footer_bytes, buffer_size, *, context):
    sizes = (whole(n, "a number of bytes") for n in (header_bytes, record_bytes, footer_bytes))
    return RecordFiles(filenames.reshape(-1).tolist(), b"", context.state.read_file, pieces(*sizes))


@dataset("FixedLengthRecordDatasetV2")
def fixed_length_record_dataset_v2(
    filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type, *, context
):
    sizes = (whole(n, "a number of bytes") for n in (header_bytes, record_bytes, footer_bytes))
    return _files(filenames, compression_type, pieces(*sizes), context)


@dataset("ParseExampleDataset ParseExampleDatasetV2 ExperimentalParseExampleDataset")
def parse_example_dataset(
    input_dataset,
    num_parallel_calls,
    dense_defaults,
    *,
    sparse_keys,
    dense_keys,
    sparse_types,
    dense_shapes,
    ragged_keys=(),
    ragged_value_types=(),
    ragged_split_types=(),
):
    if list(input_dataset.types) != [STRING]:
        raise RunFailed(
            "the input must be a dataset of string vectors, "
            f"found elements of {[dtype.name for dtype in input_dataset.types]}"
        )
    whole(num_parallel_calls, "num_parallel_calls")
    keys = [as_keys(names) for names in (sparse_keys, dense_keys, ragged_keys)]
    arguments = [np.array([], object), *(_array(names) for names in keys), dense_defaults]
    parse = partial(
        parse_example_v2,
        num_sparse=len(sparse_keys),
        sparse_types=sparse_types,
        ragged_value_types=ragged_value_types,
        ragged_split_types=ragged_split_types,
        dense_shapes=dense_shapes,
    )

    def call(element: Sequence[Any]) -> Sequence[Any]:
        if element[0].ndim != 1:
            raise RunFailed(f"serialized Examples must be a vector, found shape {list(element[0].shape)}")
        indices, values, shapes, dense, ragged_values, splits = parse(element[0], *arguments)
        sparse = [_variant(*parts) for parts in zip(indices, values, shapes, strict=True)]
        ragged = [
            RaggedVariant([split.astype(dtype.numpy)], value)
            for value, split, dtype in zip(ragged_values, splits, ragged_split_types, strict=True)
        ]
        named = zip([*keys[0], *keys[1], *keys[2]], [*sparse, *dense, *ragged], strict=True)
        return [tensor for _, tensor in sorted(named, key=lambda pair: pair[0])]

    return Map(input_dataset, call)


def _array(keys: list[bytes]) -> Any:
    out = np.empty(len(keys), object)
    out[:] = keys
    return out


def _variant(*parts: Any) -> Any:
    out = np.empty(3, object)
    out[:] = [SerializedPart(part) for part in parts]
    return out


# Datasets of the records of files: TFRecords, lines, fixed-length records.
#
# A model may read its own files only.

MOST_UNPACKED = 1 << 31
_WINDOWS = {b"ZLIB": zlib.MAX_WBITS, b"GZIP": zlib.MAX_WBITS | 16}
Cut = Callable[[str, bytes], Iterator[bytes]]
"""Splits the bytes of a named file into records."""


@dataclass(eq=False)
class RecordFiles(Dataset):
    """The records of files in order; a file is read when it is reached."""

    names: Sequence[bytes]
    compression: bytes
    read: Callable[[str], Any]
    cut: Cut
    types = (STRING,)
    shapes = (Shape(()),)

    def __post_init__(self) -> None:
        if self.compression and self.compression not in _WINDOWS:
            raise RunFailed(
                f"unknown compression {self.compression.decode(errors='replace')!r}; expected ZLIB or GZIP"
            )

    def iterate(self) -> Iterator[Element]:
        for name in self.names:
            path = name.decode(errors="replace")
            for record in self.cut(path, self._data(path)):
                yield (string_array([record], ()),)

    def _data(self, path: str) -> bytes:
        data = bytes(self.read(path))
        return unpacked(path, data, self.compression) if self.compression else data


def unpacked(path: str, data: bytes, compression: bytes) -> bytes:
    parts, rest = [], data
    left = MOST_UNPACKED
    while rest:  # a file may have several members
        inflate = zlib.decompressobj(_WINDOWS[compression])
        try:
            parts.append(inflated(inflate, rest, left))
        except zlib.error as error:
            raise RunFailed(f"{path}: {error}") from None
        left -= len(parts[-1])
        if not inflate.eof:
            raise RunFailed(f"{path}: the compressed data is truncated, or larger than 2 GB")
        rest = inflate.unused_data
    return b"".join(parts)


def lines(path: str, data: bytes) -> Iterator[bytes]:
    """Lines without line ends; as in TensorFlow, carriage returns are removed everywhere."""
    rows = data.replace(b"\r", b"").split(b"\n")
    return iter(rows if rows[-1] else rows[:-1])


def records(start: Callable[[str], int]) -> Cut:
    """The records of a TFRecord file: a length, the bytes, and checksums of both."""

    def cut(path: str, data: bytes) -> Iterator[bytes]:
        at = start(path)
        while at + 12 <= len(data):  # as in TensorFlow, fewer bytes at the end are ignored
            head = data[at : at + 8]
            _check(path, at, head, data[at + 8 : at + 12])
            end = at + 12 + struct.unpack("<Q", head)[0]
            if end + 4 > len(data):
                raise RunFailed(f"{path}, byte {at}: the record is truncated")
            record = data[at + 12 : end]
            _check(path, at, record, data[end : end + 4])
            yield record
            at = end + 4

    return cut


def _check(path: str, at: int, data: bytes, stored: bytes) -> None:
    if masked(checksum(data)) != struct.unpack("<I", stored)[0]:
        raise RunFailed(f"{path}, byte {at}: the record is corrupted: its checksum does not match")


def pieces(header: int, size: int, footer: int) -> Cut:
    """Records of a fixed length between a header and a footer."""
    if size <= 0 or header < 0 or footer < 0:
        raise RunFailed(f"invalid sizes: record_bytes={size}, header_bytes={header}, footer_bytes={footer}")

    def cut(path: str, data: bytes) -> Iterator[bytes]:
        body = max(0, len(data) - header - footer)
        if body % size:
            raise RunFailed(f"{path} has {body} bytes of records, not a multiple of {size}")
        for at in range(header, header + body, size):
            yield data[at : at + size]

    return cut
