"""A checkpoint for each way in which one can be malformed.

`write` makes a folder for each case, with the prefix `ckpt`; `sentence` is the error of opening it and
reading every tensor. File names in errors are relative to the folder of the case.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tfport.errors import Error
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.slices import encode_slice
from tfport.formats.checkpoint.table import MAGIC, Handle, SortedTable
from tfport.formats.checkpoint.table_writer import BlockBuilder, packed, write_block, write_table
from tfport.formats.checkpoint.write import BundleTensor, write_bundle
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.wire import to_varint
from tfport.formats.files import Folder
from tfport.formats.proto import checkpoint_pb2 as pb
from tfport.formats.proto import graph_pb2

INDEX, DATA = "ckpt.index", "ckpt.data-00000-of-00001"
Rows = dict[bytes, bytes]
Bytes = Callable[[bytes], bytes]


def good() -> None:
    """Write the valid checkpoint that is then damaged to the current folder."""
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    write_bundle(
        Path("ckpt"),
        [
            ("kernel", (rows, graph_pb2.DT_FLOAT)),
            ("rows", BundleTensor(rows[:4], graph_pb2.DT_FLOAT, ((0, 4), (0, -1)), (6, 2))),
            ("rows", BundleTensor(rows[4:], graph_pb2.DT_FLOAT, ((4, 2), (0, -1)), (6, 2))),
            ("words", (np.array([b"one", b"three"], object), graph_pb2.DT_STRING)),
        ],
    )


def change(name: str, edit: Bytes) -> None:
    path = Path(name)
    path.write_bytes(edit(path.read_bytes()))


def flip(name: str, at: int) -> None:
    change(name, lambda data: data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])


def rewrite(edit: Callable[[Rows], object]) -> None:
    """Change the rows of the index; its checksums stay right."""
    rows = {key: bytes(value) for key, value in SortedTable(Folder(".").map(INDEX), INDEX).items()}
    edit(rows)
    with open(INDEX, "wb") as file:
        write_table(file, sorted(rows.items()))


def entry(name: str | bytes, edit: Callable[[pb.BundleEntryProto], object]) -> None:
    key = name if isinstance(name, bytes) else name.encode()

    def edit_row(rows: Rows) -> None:
        proto = pb.BundleEntryProto.FromString(rows[key])
        edit(proto)
        rows[key] = proto.SerializeToString()

    rewrite(edit_row)


def raw_block(contents: bytes, handle: bytes | None = None, compression: int = 0) -> None:
    """An index file whose one data block has these contents."""
    file = io.BytesIO()
    data = contents + bytes([compression])
    file.write(data + masked(checksum(data)).to_bytes(4, "little"))
    index = BlockBuilder(restart_every=1)
    index.add(b"z", handle or packed(Handle(0, len(contents))))
    metaindex = write_block(file, BlockBuilder(), len(data) + 4)
    places = packed(metaindex) + packed(write_block(file, index, metaindex.end))
    Path(INDEX).write_bytes(file.getvalue() + places.ljust(40, b"\0") + MAGIC)


def write_v1(name: str, elements: int, size: int = 2, value: bool = True) -> None:
    """A V1 checkpoint of one tensor `t`."""
    rows: Rows = {}
    listed, saved = pb.SavedTensorSlices(), pb.SavedTensorSlices()
    tensor = listed.meta.tensor.add(name="t", type=graph_pb2.DT_FLOAT)
    tensor.shape.dim.add(size=size)
    tensor.slice.add().extent.add()
    saved.data.data.float_val.extend([1.0] * elements)
    rows[b""] = listed.SerializeToString()
    if value:
        rows[encode_slice("t", ((0, -1),))] = saved.SerializeToString()
    with open(name, "wb") as file:
        write_table(file, sorted(rows.items()))


def only_v1(*shards: tuple[int, int], value: bool = True) -> None:
    for path in (INDEX, DATA):
        os.remove(path)
    for number, (elements, size) in enumerate(shards):
        write_v1(f"ckpt-{number:05}-of-{len(shards):05}", elements, size, value)


def set_shape(proto: pb.BundleEntryProto, *sizes: int) -> None:
    del proto.shape.dim[:]
    for size in sizes:
        proto.shape.dim.add(size=size)


def header(**fields: int) -> None:
    version = graph_pb2.VersionDef(min_consumer=fields.pop("min_consumer", 0))
    made = pb.BundleHeaderProto(num_shards=fields.pop("num_shards", 1), version=version)
    rewrite(lambda rows: rows.update({b"": made.SerializeToString()}))


HEADER = b"\0\0\2\x08\1"  # an empty key, and that there is one shard
TAIL = b"\0\0\0\0\1\0\0\0"  # where the only whole key is, and that there is one
SECOND = encode_slice("rows", ((4, 2), (0, -1)))

CASES: dict[str, Callable[[], object]] = {
    # the table
    "index_missing": lambda: os.remove(INDEX),
    "index_empty": lambda: change(INDEX, lambda data: b""),
    "index_truncated": lambda: change(INDEX, lambda data: data[:-10]),
    "index_ends_in_zeros": lambda: change(INDEX, lambda data: data[:-8] + bytes(8)),
    "index_handle_malformed": lambda: change(INDEX, lambda data: data[:-48] + b"\xff" * 40 + MAGIC),
    "index_handle_outside": lambda: change(
        INDEX, lambda data: data[:-48] + b"\0\0\xff\x7f\x10".ljust(40, b"\0") + MAGIC
    ),
    "block_damaged": lambda: flip(INDEX, 20),
    "block_outside": lambda: raw_block(TAIL, handle=b"\0\x7f"),
    "block_compression_unknown": lambda: raw_block(TAIL, compression=7),
    "block_without_restarts": lambda: raw_block(bytes(8)),
    "block_restarts_too_many": lambda: raw_block(b"\0\0\0\0\xff\0\0\0"),
    "block_entry_too_long": lambda: raw_block(b"\0\x01\x7fk" + TAIL),
    "block_entry_truncated": lambda: raw_block(b"\0\xff" + TAIL),
    "block_shared_prefix_missing": lambda: raw_block(b"\x05\x01\0k" + TAIL),
    "block_keys_out_of_order": lambda: raw_block(HEADER + b"\0\x01\0b\0\x01\0a" + TAIL),
    "block_keys_grow": lambda: raw_block(
        HEADER + b"".join(to_varint(n) + b"\1\0k" for n in range(500)) + TAIL
    ),
    # the header and the entries
    "header_missing": lambda: rewrite(lambda rows: rows.pop(b"")),
    "header_unparsable": lambda: rewrite(lambda rows: rows.update({b"": b"\xff\xff"})),
    "header_version_too_new": lambda: header(min_consumer=9),
    "name_not_utf8": lambda: rewrite(lambda rows: rows.update({b"a\xff": rows[b"kernel"]})),
    "entry_unparsable": lambda: rewrite(lambda rows: rows.update({b"kernel": b"\xff"})),
    "shape_negative": lambda: entry("kernel", lambda e: set_shape(e, 6, -2)),
    "shape_overflows": lambda: entry("kernel", lambda e: set_shape(e, 2**40, 2**40)),
    "shape_with_unknown_rank": lambda: entry("kernel", lambda e: setattr(e.shape, "unknown_rank", True)),
    "shape_with_too_many_axes": lambda: entry("kernel", lambda e: set_shape(e, *[1] * 33)),
    "type_unknown": lambda: entry("kernel", lambda e: setattr(e, "dtype", 99)),
    "type_variant": lambda: entry("kernel", lambda e: setattr(e, "dtype", graph_pb2.DT_VARIANT)),
    "size_wrong": lambda: entry("kernel", lambda e: setattr(e, "size", 44)),
    # the shards
    "shard_number_outside": lambda: entry("kernel", lambda e: setattr(e, "shard_id", 3)),
    "shard_missing": lambda: header(num_shards=2),
    "shard_truncated": lambda: change(DATA, lambda data: data[:40]),
    "offset_negative": lambda: entry("kernel", lambda e: setattr(e, "offset", -8)),
    "data_damaged": lambda: flip(DATA, 20),
    "strings_too_many": lambda: entry("words", lambda e: set_shape(e, 1000)),
    "strings_length_damaged": lambda: flip(DATA, 128 + 64),
    "strings_lengths_malformed": lambda: change(DATA, lambda data: data[:192] + b"\xff" * (len(data) - 192)),
    "strings_truncated": lambda: entry("words", lambda e: setattr(e, "size", e.size - 1)),
    "strings_damaged": lambda: flip(DATA, 128 + 64 + 7),
    # slices
    "slice_missing": lambda: rewrite(lambda rows: rows.pop(SECOND)),
    "slice_type_differs": lambda: entry(SECOND, lambda e: setattr(e, "dtype", graph_pb2.DT_INT32)),
    "slice_shape_differs": lambda: entry(SECOND, lambda e: set_shape(e, 3, 2)),
    "slice_outside": lambda: entry("rows", lambda e: set_shape(e, 5, 2)),
    "slices_with_a_gap": lambda: entry("rows", lambda e: e.slices.pop()),
    "slices_larger_than_the_file": lambda: (
        entry("rows", lambda e: set_shape(e, 6, 2**30)),
        entry(SECOND, lambda e: set_shape(e, 2, 2**30)),
        entry(encode_slice("rows", ((0, 4), (0, -1))), lambda e: set_shape(e, 4, 2**30)),
    ),
    # V1
    "v1_shard_missing": lambda: (only_v1((2, 2), (2, 2)), os.remove("ckpt-00000-of-00002")),
    "v1_shards_disagree": lambda: only_v1((2, 2), (3, 3)),
    "v1_elements_missing": lambda: only_v1((1, 2)),
    "v1_value_missing": lambda: only_v1((2, 2), value=False),
}


def write(folder: Path) -> list[str]:
    """Write all checkpoints below a folder; return the names of the cases."""
    for name, break_it in CASES.items():
        (folder / name).mkdir(parents=True)
        with contextlib.chdir(folder / name):
            good()
            break_it()
    return list(CASES)


def sentence(folder: Path) -> str:
    """The error of a malformed checkpoint, without the folder."""
    try:
        checkpoint = open_checkpoint(Folder(folder), "ckpt")
        for name in checkpoint.names():
            checkpoint.read(name)
    except Error as error:
        return str(error).replace(f"{folder}{os.sep}", "")
    raise AssertionError(f"nothing is wrong with {folder}")
