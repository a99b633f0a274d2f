"""Write V2 checkpoints that TensorFlow restores: `write_bundle(prefix, tensors)`.

Tensors are written one at a time and not kept in memory. They are in one shard,
each at a multiple of 64 bytes, so that reading needs no copy. Files are renamed
when they are complete: a reader finds the whole checkpoint or none.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tfport.errors import Error
from tfport.formats.checkpoint import slices
from tfport.formats.checkpoint.bundle_shards import from_strings, to_bytes
from tfport.formats.checkpoint.entry import VERSION
from tfport.formats.checkpoint.slices import SLICE_KEY, Slice, encode_slice
from tfport.formats.checkpoint.table_writer import write_table
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.tensor import NUMPY, type_name
from tfport.formats.proto import checkpoint_pb2 as pb

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64


class BundleTensor(NamedTuple):
    """A tensor as an array and a DataType; or one slice of a tensor, with the shape of the whole."""

    array: NDArray[Any]
    dtype: int
    part: Slice | None = None
    shape: tuple[int, ...] = ()


Tensors = Mapping[str, tuple[Any, ...]] | Iterable[tuple[str, tuple[Any, ...]]]


def write_bundle(prefix: Path, tensors: Tensors) -> None:
    """Write `PREFIX.index` and `PREFIX.data-00000-of-00001`. A name comes once, or once for each slice."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    data, index = (Path(f"{prefix}{end}") for end in (".data-00000-of-00001", ".index"))
    temporary = [path.with_name(f"{path.name}.temp{secrets.token_hex(8)}") for path in (data, index)]
    try:
        with open(temporary[0], "xb") as file:
            entries = write_data(file, tensors)
        with open(temporary[1], "xb") as file:
            write_index(file, entries)
        os.replace(temporary[0], data)
        os.replace(temporary[1], index)
    finally:
        for path in temporary:
            path.unlink(missing_ok=True)


def write_index(file: BinaryIO, entries: dict[bytes, pb.BundleEntryProto]) -> None:
    header = pb.BundleHeaderProto(num_shards=1)
    header.endianness = pb.BundleHeaderProto.BIG if sys.byteorder == "big" else pb.BundleHeaderProto.LITTLE
    header.version.producer = VERSION
    rows = [(b"", header.SerializeToString())]
    rows += sorted((key, entry.SerializeToString()) for key, entry in entries.items())
    write_table(file, rows)


def write_data(file: BinaryIO, tensors: Tensors) -> dict[bytes, pb.BundleEntryProto]:
    """Write the tensors one after another; return their entries."""
    entries: dict[bytes, pb.BundleEntryProto] = {}
    for name, fields in tensors.items() if isinstance(tensors, Mapping) else tensors:
        tensor = BundleTensor(*fields)
        key = add_key(entries, name, tensor)
        file.write(bytes(-file.tell() % ALIGNMENT))
        entries[key] = write_tensor(file, name, tensor)
    return entries


def add_key(entries: dict[bytes, pb.BundleEntryProto], name: str, tensor: BundleTensor) -> bytes:
    """The key for a tensor; a slice is also listed in the entry of the whole."""
    key = name.encode()
    if not key or key.startswith(SLICE_KEY):
        raise Error(f"a tensor cannot be named {name!r}")
    if tensor.part is not None and not is_whole(name, tensor, tensor.part):
        key = add_slice(entries, name, tensor, tensor.part)
    if key in entries:
        raise Error(f"tensor {name}: passed twice")
    return key


def is_whole(name: str, tensor: BundleTensor, part: Slice) -> bool:
    """Whether a slice is the whole tensor, which TensorFlow expects to be stored without slices."""
    try:
        region = slices.within(part, tensor.shape)
    except ValueError as error:
        raise Error(f"tensor {name}: {error}") from None
    if slices.shape_of(region) != tensor.array.shape:
        raise Error(
            f"tensor {name}: slice {slices.text(part)} does not fit an array of "
            f"shape {list(tensor.array.shape)}"
        )
    return region == slices.whole(tensor.shape)


def add_slice(
    entries: dict[bytes, pb.BundleEntryProto], name: str, tensor: BundleTensor, part: Slice
) -> bytes:
    """Add a slice to the entry of its tensor; return the key of the slice."""
    full = entry_of(tensor.dtype, tensor.shape)
    known = entries.setdefault(name.encode(), full)
    stored_whole = known is not full and not known.slices
    if stored_whole or (known.dtype, known.shape) != (full.dtype, full.shape):
        raise Error(f"tensor {name}: passed twice, with different types or shapes")
    slices.to_proto(part, known.slices.add())
    return encode_slice(name, part)


def write_tensor(file: BinaryIO, name: str, tensor: BundleTensor) -> pb.BundleEntryProto:
    entry = entry_of(tensor.dtype, tensor.array.shape)
    entry.offset = file.tell()
    data, crc = laid_out(name, tensor)
    entry.size, entry.crc32c = len(data), masked(crc)
    file.write(data)
    return entry


def laid_out(name: str, tensor: BundleTensor) -> tuple[bytes | memoryview, int]:
    """The stored bytes of a tensor, and their checksum."""
    array, dtype = tensor.array, NUMPY.get(tensor.dtype)
    if dtype is None:
        raise Error(f"tensor {name}: cannot write elements of type {type_name(tensor.dtype)}")
    if dtype.hasobject:
        return from_strings(array, name)
    if array.dtype.newbyteorder("=") != dtype:  # a cast could lose information
        raise Error(
            f"tensor {name}: expected an array of {dtype} for {type_name(tensor.dtype)}, found {array.dtype}"
        )
    data = to_bytes(array.astype(dtype, copy=False))
    return data, checksum(data)


def entry_of(dtype: int, shape: tuple[int, ...]) -> pb.BundleEntryProto:
    entry = pb.BundleEntryProto()
    entry.dtype = dtype  # type: ignore[assignment]  # a number, as elsewhere
    entry.shape.SetInParent()  # a scalar has an empty shape, not none
    for size in shape:
        entry.shape.dim.add(size=size)
    return entry
