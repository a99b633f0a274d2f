import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.error_messages import reads_or_raises_one_line

from tfport.errors import Error, MissingTensor, UnreadableFile
from tfport.formats.checkpoint import table_writer
from tfport.formats.checkpoint.bundle import MANY
from tfport.formats.checkpoint.entry import ITEM_SIZE, CheckpointEntry
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.slices import encode_slice
from tfport.formats.checkpoint.table import SortedTable
from tfport.formats.checkpoint.table_writer import write_table
from tfport.formats.checkpoint.write import BundleTensor, write_bundle
from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.files import Folder
from tfport.formats.proto import checkpoint_pb2
from tfport.formats.proto import graph_pb2 as pb

RECORDED = Path(__file__).parents[2] / "checkpoints"
EXPECTED = json.loads((RECORDED / "expected.json").read_text())
TENSORS = [(case, name) for case in EXPECTED if case != "tensorflow" for name in EXPECTED[case]]
GRID = np.arange(30, dtype=np.float32).reshape(5, 6)


def recorded(case):
    return open_checkpoint(Folder(RECORDED / case), "ckpt")


@pytest.mark.parametrize(("case", "name"), TENSORS)
def test_every_tensor_is_read_as_tensorflow_does(case, name):
    expected, checkpoint = EXPECTED[case][name], recorded(case)
    entry = checkpoint.entry(name)
    assert (entry.dtype, list(entry.shape)) == (expected["dtype"], expected["shape"])
    if expected["elements"] is not None:
        array = checkpoint.read(name)
        assert (array.dtype, list(array.shape)) == (NUMPY[entry.dtype], expected["shape"])
        assert [str(x) for x in array.ravel()] == expected["elements"]
        assert not array.flags.writeable


@pytest.mark.parametrize("case", [case for case in EXPECTED if case != "tensorflow"])
def test_names_are_those_tensorflow_lists(case):
    checkpoint = recorded(case)
    assert checkpoint.names() == sorted(EXPECTED[case])
    assert all(name in checkpoint for name in EXPECTED[case])
    assert "no such name" not in checkpoint
    assert "" not in checkpoint


def test_listing_needs_neither_the_data_nor_numpy():
    script = f"""if True:
        import sys
        from tfport.formats.checkpoint.read import (open_checkpoint)
        from tfport.formats.files import Folder
        for case in ("v2_sharded", "v1_sharded"):
            checkpoint = open_checkpoint(Folder({str(RECORDED)!r} + "/" + case), "ckpt")
            print(*[checkpoint.entry(name).nbytes for name in checkpoint.names()])
            assert not getattr(checkpoint, "_opened", None)
        assert not {{"numpy", "ml_dtypes"}} & sys.modules.keys()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "48 80 80 8\n48 80 80 8\n"


def test_entries_have_type_shape_and_size():
    assert recorded("v2_types").entry("string") == CheckpointEntry("string", pb.DT_STRING, (6,), 572)
    assert recorded("v2_types").entry("int4") == CheckpointEntry("int4", pb.DT_INT4, (2, 2), 4)
    assert recorded("v2_grid").entry("grid") == CheckpointEntry("grid", pb.DT_FLOAT, (5, 6), 120)


def test_item_sizes_are_those_of_the_arrays():
    assert {number: kind.itemsize for number, kind in NUMPY.items() if not kind.hasobject} == ITEM_SIZE


@pytest.mark.parametrize("prefix", ["ckpt", "ckpt.index", "ckpt.data-00000-of-00001"])
def test_a_checkpoint_is_opened_by_any_of_its_files(prefix):
    assert "grid" in open_checkpoint(Folder(RECORDED / "v2_grid"), prefix)


REGIONS = [((0, 2), (0, 4)), ((0, -1), (0, -1)), ((1, 3), (2, 3)), ((4, 1), (5, 1)), ((2, 0), (0, 6))]


@pytest.mark.parametrize("region", REGIONS)
def test_a_region_is_read_from_its_slices(region):
    (top, height), (left, width) = [(at, 6 if length < 0 else length) for at, length in region]
    part = recorded("v2_grid").read_slice("grid", region)
    np.testing.assert_array_equal(part, GRID[top : top + height, left : left + width])


def test_a_region_of_a_whole_tensor_is_a_view():
    checkpoint = recorded("v2_partitioned")
    part = checkpoint.read_slice("plain", ((3, 2), (0, -1)))
    assert part.tolist() == [[6.0, 7.0], [8.0, 9.0]]
    assert part.base is not None
    assert checkpoint.slices("plain") == []
    assert checkpoint.slices("columns") == [((0, 2), (0, 3)), ((0, 2), (3, 3))]


def test_a_region_outside_is_refused():
    with pytest.raises(MissingTensor, match=r"ckpt: tensor grid: slice 0,6:- is not within shape \[5, 6\]$"):
        recorded("v2_grid").read_slice("grid", ((0, 6), (0, -1)))


MISSING = [  # name, the end of the error
    ("dense/kernel/.ATTRIBUTE/VARIABLE_VALUE", "; similar names: dense/kernel/.ATTRIBUTES/VARIABLE_VALUE, "),
    ("bias", "; similar names: dense/bias/.ATTRIBUTES/VARIABLE_VALUE$"),
    (
        "dense/x",
        "; similar names: dense/bias/.ATTRIBUTES/VARIABLE_VALUE, dense/kernel/.ATTRIBUTES/VARIABLE_VALUE$",
    ),
    ("zzz", "$"),
    ("\ud800", "$"),
]


@pytest.mark.parametrize(("name", "hint"), MISSING)
def test_the_error_for_a_missing_tensor_lists_similar_names(name, hint):
    shown = name if name.isprintable() else repr(name).replace("\\", r"\\")
    for ask in (recorded("v2_object").read, recorded("v2_object").entry):
        with pytest.raises(MissingTensor, match=f"ckpt: no tensor {shown}{hint}"):
            ask(name)


def test_a_variant_is_listed_but_not_read():
    with pytest.raises(
        UnreadableFile, match=r"tensor list: expected a type that NumPy supports, found DT_VARIANT$"
    ):
        recorded("v2_grid").read("list")


def test_aligned_tensors_are_views_of_the_file(tmp_path):
    write_bundle(tmp_path / "m", {"a": (np.ones(3, np.int8), pb.DT_INT8), "b": (GRID, pb.DT_FLOAT)})
    checkpoint = open_checkpoint(Folder(tmp_path), "m")
    assert np.shares_memory(checkpoint.read("b"), checkpoint.read("b"))


def test_unaligned_tensors_are_copied_to_be_aligned():
    array = recorded("v2_types").read("uint64")
    assert array.flags.aligned
    assert recorded("v2_types").read("float64").flags.aligned


def test_a_checkpoint_of_a_big_endian_machine_is_read(tmp_path, monkeypatch):
    numbers = {
        "f": np.array([1.5, -2], np.float32),
        "c": np.array([1 + 2j], np.complex64),
        "h": np.array([1.5], NUMPY[pb.DT_BFLOAT16]),
        "b": np.array([True, False]),
    }
    types = {"f": pb.DT_FLOAT, "c": pb.DT_COMPLEX64, "h": pb.DT_BFLOAT16, "b": pb.DT_BOOL}
    strings = np.array([b"one", b"x" * 200], object)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "byteorder", "big")  # of headers and strings
        swapped = {name: (byteswapped(array), types[name]) for name, array in numbers.items()}
        write_bundle(tmp_path / "m", {**swapped, "s": (strings, pb.DT_STRING)})
    checkpoint = open_checkpoint(Folder(tmp_path), "m")
    for name, array in numbers.items():
        np.testing.assert_array_equal(checkpoint.read(name), array)
    assert checkpoint.read("s").tolist() == strings.tolist()


def byteswapped(array):
    word = array.itemsize // 2 if array.dtype.kind == "c" else array.itemsize
    return array.view(f"u{word}").byteswap().view(array.dtype)


def set_rows(path, rows):
    with open(path, "wb") as file:
        write_table(file, sorted(rows.items()))


def test_slices_that_share_their_bytes_take_no_more_memory_than_the_file(tmp_path):
    parts = [((row, 1), (0, -1)) for row in range(3)]
    row = np.zeros((1, 512))
    write_bundle(tmp_path / "m", [("p", BundleTensor(row, pb.DT_DOUBLE, part, (3, 512))) for part in parts])
    rows = {key: bytes(value) for key, value in SortedTable(Folder(tmp_path).map("m.index"), "m").items()}
    rows.update(dict.fromkeys((encode_slice("p", part) for part in parts), rows[encode_slice("p", parts[0])]))
    set_rows(tmp_path / "m.index", rows)
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(4096))
    with pytest.raises(UnreadableFile, match=r"tensor p: expected all of \[3, 512\], found 4096 bytes$"):
        open_checkpoint(Folder(tmp_path), "m").read("p")


NUMBERS = st.sampled_from([-(2**63), -1, 0, 1, 2, 4, 6, 2**31, 2**40, 2**63 - 1])
EXTENTS = st.builds(checkpoint_pb2.TensorSliceProto.Extent, start=NUMBERS, length=st.none() | NUMBERS)
ENTRIES = st.builds(
    checkpoint_pb2.BundleEntryProto,
    dtype=st.sampled_from([0, 1, 7, 10, 21, 99]),
    shape=st.lists(NUMBERS, max_size=3).map(
        lambda n: pb.TensorShapeProto(dim=[{"size": size} for size in n])
    ),
    shard_id=st.sampled_from([-1, 0, 1]),
    offset=NUMBERS,
    size=NUMBERS,
    slices=st.lists(
        st.builds(checkpoint_pb2.TensorSliceProto, extent=st.lists(EXTENTS, max_size=3)), max_size=3
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(full=ENTRIES, part=ENTRIES)
def test_any_entry_is_refused_or_read(full, part, tmp_path):
    header = checkpoint_pb2.BundleHeaderProto(num_shards=1).SerializeToString()
    keys = [encode_slice("t", tuple((e.start, e.length) for e in s.extent)) for s in full.slices]
    set_rows(tmp_path / "m.index", {b"": header, b"t": full.SerializeToString(),
                                    **dict.fromkeys(keys, part.SerializeToString())})  # fmt: skip
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(64))
    checkpoint = open_checkpoint(Folder(tmp_path), "m")
    with reads_or_raises_one_line():
        assert checkpoint.read("t").shape == checkpoint.entry("t").shape


def contents(checkpoint):
    return {name: (checkpoint.entry(name), checkpoint.read(name).tolist()) for name in checkpoint.names()}


FILES = [
    (case.name, file.name) for case in sorted(RECORDED.iterdir()) if case.is_dir() and case.name != "v2_grid"
    for file in sorted(case.iterdir())
]  # fmt: skip


@pytest.mark.parametrize(("case", "file"), FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_correctly_or_refused(case, file, data, tmp_path):
    for whole in (RECORDED / case).iterdir():
        (tmp_path / whole.name).write_bytes(whole.read_bytes())
    good = (tmp_path / file).read_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    flipped = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    (tmp_path / file).write_bytes(data.draw(st.sampled_from([flipped, good[:at]])))
    try:
        tensors = contents(open_checkpoint(Folder(tmp_path), "ckpt"))
    except Error:
        return
    assert tensors == contents(recorded(case))


def test_tensors_before_the_damage_are_read(tmp_path, monkeypatch):
    """Many tensors are looked up in a list of all, unless the list cannot be read."""
    monkeypatch.setattr(table_writer, "BLOCK_SIZE", 2048)
    names = [f"{number:04}" for number in range(8 * MANY)]
    tensors = {name: (np.array(number, np.float32), pb.DT_FLOAT) for number, name in enumerate(names)}
    write_bundle(tmp_path / "c", tensors)
    whole = open_checkpoint(Folder(tmp_path), "c")
    assert [float(whole.read(name)) for name in names] == [*range(len(names))]
    index = tmp_path / "c.index"
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)
    damaged = open_checkpoint(Folder(tmp_path), "c")
    assert [float(damaged.read(name)) for name in names[: 2 * MANY]] == [*range(2 * MANY)]
    with pytest.raises(UnreadableFile, match="checksum"):
        damaged.read(names[4 * MANY])
