import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.errors import Error, MissingTensor, UnreadableFile
from tfport.formats.checkpoint.entry import CheckpointEntry
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.slices import encode_slice
from tfport.formats.checkpoint.table import SortedTable
from tfport.formats.checkpoint.table_writer import write_table
from tfport.formats.checkpoint.v1 import CheckpointV1
from tfport.formats.files import Folder
from tfport.formats.proto import checkpoint_pb2
from tfport.formats.proto import graph_pb2 as pb

# test_bundle compares the tensors of the recorded checkpoints
RECORDED = Path(__file__).parents[2] / "checkpoints"
ROWS = np.arange(20.0, dtype=np.float32).reshape(10, 2)


def recorded(case):
    return open_checkpoint(Folder(RECORDED / case), "ckpt")


@pytest.mark.parametrize("case", ["v1_types", "v1_partitioned", "v1_sharded"])
def test_the_version_is_recognized_by_the_content(case):
    assert isinstance(recorded(case), CheckpointV1)


def test_the_version_is_recognized_for_any_file_name(tmp_path):
    (tmp_path / "odd.index").write_bytes((RECORDED / "v1_types/ckpt").read_bytes())
    assert isinstance(open_checkpoint(Folder(tmp_path), "odd"), CheckpointV1)
    for file in (RECORDED / "v2_types").iterdir():
        (tmp_path / file.name.replace("ckpt.index", "ckpt")).write_bytes(file.read_bytes())
    assert open_checkpoint(Folder(tmp_path), "ckpt").read("scalar_float32") == 1.5


def test_shards_in_a_folder_are_found():
    checkpoint = open_checkpoint(Folder(RECORDED), "v1_sharded/ckpt")
    np.testing.assert_array_equal(checkpoint.read("rows"), ROWS)


def test_a_region_is_read_from_its_slices():
    np.testing.assert_array_equal(recorded("v1_sharded").read_slice("rows", ((3, 5), (1, 1))), ROWS[3:8, 1:])


def test_entries_have_type_shape_and_size():
    assert recorded("v1_types").entry("float16") == CheckpointEntry("float16", pb.DT_HALF, (2, 2), 8)
    assert recorded("v1_types").entry("string") == CheckpointEntry("string", pb.DT_STRING, (6,), None)


def test_the_error_for_a_missing_tensor_lists_similar_names():
    with pytest.raises(MissingTensor, match=r"ckpt: no tensor colums; similar names: columns$"):
        recorded("v1_sharded").read("colums")


def test_a_missing_shard_is_reported(tmp_path):
    (tmp_path / "ckpt-00001-of-00002").write_bytes((RECORDED / "v1_sharded/ckpt-00001-of-00002").read_bytes())
    with pytest.raises(UnreadableFile, match=r"ckpt-00001-of-00002: expected 2 shards, found 1$"):
        open_checkpoint(Folder(tmp_path), "ckpt")


def crafted(shape, parts, elements, dtype=pb.DT_FLOAT):
    """A table with a tensor `t` whose slices have these elements."""
    message = checkpoint_pb2.SavedTensorSlices()
    tensor = message.meta.tensor.add(name="t", type=dtype)
    for size in shape:
        tensor.shape.dim.add(size=size)
    values = {}
    for part in parts:
        extents = tensor.slice.add().extent
        for start, length in part:
            extents.add(start=start, length=length)
        value = checkpoint_pb2.SavedTensorSlices()
        value.data.data.float_val.extend(elements)
        values[encode_slice("t", part)] = value.SerializeToString()
    file = io.BytesIO()
    write_table(file, sorted({b"": message.SerializeToString(), **values}.items()))
    return CheckpointV1([SortedTable(memoryview(file.getvalue()), "ckpt")], "ckpt")


def test_a_huge_shape_over_few_bytes_takes_no_memory():
    checkpoint = crafted((2, 2**40), [((0, 1), (0, 2**40)), ((1, 1), (0, 2**40))], [1.0])
    with pytest.raises(
        UnreadableFile, match=r"^ckpt: tensor t: expected all of \[2, 1099511627776\], found \d+ bytes$"
    ):
        checkpoint.read("t")


@given(
    st.lists(st.integers(-2, 5), max_size=2).map(tuple),
    st.lists(st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 5)), max_size=2).map(tuple), max_size=3),
    st.lists(st.floats(width=32), max_size=5),
    st.integers(0, 40),
)
def test_any_list_of_slices_is_refused_or_read(shape, parts, elements, dtype):
    try:
        array = crafted(shape, parts, elements, dtype).read("t")
    except Error:
        return
    assert array.shape == shape
