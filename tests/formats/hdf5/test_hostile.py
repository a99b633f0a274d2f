"""HDF5 files that are damaged, or made to exhaust a reader."""

from __future__ import annotations

import io
import struct
from contextlib import suppress

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.hdf5.samples import VERSIONS, opened, written

from tfport.errors import UnreadableFile
from tfport.formats.hdf5 import source
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.datatypes import read_type
from tfport.formats.hdf5.file import Hdf5Group
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes

SAMPLES = [written(**options) for options in VERSIONS.values()]


def file_with(write, **options) -> bytearray:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        write(file)
    return bytearray(buffer.getvalue())


def read_everything(data: bytes, most: int = 300) -> None:
    """Read all objects; each error must be one of tfport."""
    groups = [opened(data)]
    for group in groups:  # grows during the loop
        _ = group.attributes
        for link in group.links.values():
            if link.address is None or len(groups) > most:
                continue
            try:
                inner = group.open(link)
                if isinstance(inner, Hdf5Group):
                    groups.append(inner)
                else:
                    inner.read()
            except UnreadableFile:
                continue


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 160_000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4),
    st.integers(0, 200_000),
)
def test_damaged_bytes_give_an_error_or_a_value(data, changes, end):
    damaged = bytearray(data)
    for at, value in changes:
        at = at % 4000 if at % 3 else at  # the root is there, and most of the structures
        damaged[at : at + len(value)] = value
    with suppress(UnreadableFile):
        read_everything(bytes(damaged[: end if end % 4 == 0 else None]))


def test_every_cut_gives_an_error():
    data = bytes(file_with(lambda f: f.create_dataset("group/a", data=np.arange(3))))
    for size in range(len(data)):
        with pytest.raises(UnreadableFile):
            opened(data[:size]).find("group/a").read()


def test_a_tree_of_a_group_that_contains_itself():
    data = file_with(lambda f: [f.create_group(f"g{n}") for n in range(40)])
    tree = data.index(b"TREE")
    data[tree + 5] = 1  # the level of an inner node
    struct.pack_into("<Q", data, tree + 32, tree)
    with pytest.raises(UnreadableFile, match="a B-tree"):
        _ = opened(bytes(data)).links


def test_an_object_header_that_continues_with_itself():
    data = file_with(lambda f: [f.attrs.__setitem__(f"attribute{n}", n) for n in range(7)])
    root = opened(bytes(data))
    continuation = next(m for m in root.messages if m.type == 0x10)
    struct.pack_into("<QQ", data, continuation.at, continuation.at - 8, 24)
    with pytest.raises(UnreadableFile, match=r"continues with itself|object header"):
        _ = opened(bytes(data)).attributes


def test_a_group_that_contains_itself_can_be_opened_at_any_depth():
    def write(file):
        group = file.create_group("a")
        group["again"] = group

    root = opened(bytes(file_with(write)))
    assert isinstance(root.find("/".join(["a", *["again"] * 50])), Hdf5Group)


def test_the_number_of_structures_is_bounded(monkeypatch):
    monkeypatch.setattr(source, "FREE_STEPS", 100)
    monkeypatch.setattr(source, "STEP_BYTES", 1 << 40)
    with pytest.raises(UnreadableFile, match="more than 100 structures, or refers to itself"):
        read_everything(bytes(SAMPLES[0]))


def test_the_strings_of_an_attribute_are_bounded(monkeypatch):
    monkeypatch.setattr(source, "MOST_STRINGS", 100)
    data = file_with(lambda f: f.attrs.__setitem__("a", ["x" * 60, "y" * 60]))
    with pytest.raises(UnreadableFile, match="more than 100 bytes of strings"):
        _ = opened(bytes(data)).attributes


def compressed(**change) -> Hdf5Dataset:
    data = file_with(
        lambda f: f.create_dataset("a", data=np.zeros(1 << 16), chunks=(1 << 16,), compression="gzip")
    )
    for old, new in change.values():
        assert bytes(data).count(old) >= 1
        at = bytes(data).index(old)
        data[at : at + len(new)] = new
    return opened(bytes(data)).find("a")


def test_a_chunk_is_not_unpacked_beyond_its_size():
    """The chunk has 512 KiB; with a shape of 8 elements, it may not have more than 64 MiB."""
    dataset = compressed(shape=(struct.pack("<QQ", 1 << 16, 1 << 16), struct.pack("<QQ", 8, 1 << 16)))
    assert dataset.shape == (8,)
    assert dataset.read().tolist() == [0.0] * 8


def test_a_shape_beyond_what_compression_allows():
    dataset = compressed(shape=(struct.pack("<QQ", 1 << 16, 1 << 16), struct.pack("<QQ", 1 << 40, 1 << 40)))
    assert dataset.is_impossible
    with pytest.raises(UnreadableFile, match=r"the shape \[1099511627776\] needs"):
        dataset.read()


def test_damaged_compressed_data():
    dataset = compressed(data=(b"x^\xed", b"\0\0\0"))
    with pytest.raises(UnreadableFile, match="damaged HDF5: a: Error -3 while decompressing"):
        dataset.read()


def type_message(*layers: bytes) -> Cursor:
    data = memoryview(b"".join(layers) + bytes(64))
    return Cursor(Hdf5Bytes(data, "m.h5"), data, 0, "a type")


def test_an_enumeration_of_enumerations():
    """Each has eight bytes, so that a message could have thousands inside each other."""
    enumeration = bytes([0x38, 2, 0, 0]) + struct.pack("<I", 1)
    assert read_type(type_message(enumeration * 8000)).name == "an enumeration that is not of integers"


def test_chunks_that_are_not_listed_must_be_in_the_file():
    """Chunks of one byte without an index: the shape alone says how many there are."""

    def write(file):
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_chunk((1,))
        layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((1 << 8,))
        h5py.h5d.create(file.id, b"a", h5py.h5t.STD_U8LE, space, layout)
        file["a"][:] = np.arange(1 << 8)

    data = file_with(write, libver="latest")
    assert opened(bytes(data)).find("a").read().tolist() == list(range(256))
    at = data.index(struct.pack("<Q", 1 << 8))
    data[at : at + 8] = struct.pack("<Q", 1 << 24)
    with pytest.raises(UnreadableFile, match="a needs 16777216 bytes"):
        opened(bytes(data)).find("a").read()


def test_a_name_without_an_end():
    data = file_with(lambda f: f.create_group("g"))
    heap = data.index(b"HEAP")
    (start,) = struct.unpack_from("<Q", data, heap + 24)
    data[start : start + 88] = b"x" * 88
    with pytest.raises(UnreadableFile, match="a local heap has a name without an end"):
        _ = opened(bytes(data)).links


@pytest.mark.parametrize("rest", [b"", b"\x09" + bytes(99), b"\x02" + bytes(99)])
def test_almost_nothing(rest):
    with pytest.raises(UnreadableFile):
        opened(b"\x89HDF\r\n\x1a\n" + rest)
