"""tfport reads what TensorFlow writes, and TensorFlow reads what tfport writes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.live.record_checkpoints import WRITERS, every_type, listing, of_type, plain, restored, save_v2

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.checkpoint.write import BundleTensor, write_bundle
from tfport.formats.encoding.tensor import NUMPY, type_name
from tfport.formats.files import Folder
from tfport.formats.proto import graph_pb2 as pb

GRID = np.arange(30, dtype=np.float32).reshape(5, 6)
REGIONS = [((0, 2), (0, 4)), ((1, 3), (2, 3)), ((4, 1), (5, 1)), ((0, 5), (3, 2))]


def assert_same(array, expected):
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    if array.dtype == object:
        assert array.tolist() == expected.tolist()
    else:
        assert array.tobytes() == expected.tobytes()


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_tfport_reads_what_tensorflow_writes(write, tmp_path):
    prefix = str(tmp_path / "ckpt")
    write(prefix)
    checkpoint, listed = open_checkpoint(Folder(tmp_path), "ckpt"), listing(prefix)
    assert checkpoint.names() == sorted(listed)
    for name, (dtype, shape) in listed.items():
        entry = checkpoint.entry(name)
        assert (entry.dtype, list(entry.shape)) == (dtype.as_datatype_enum, shape)
        if dtype == tf.variant:
            with pytest.raises(UnreadableFile, match="found DT_VARIANT"):
                checkpoint.read(name)
        else:
            assert_same(checkpoint.read(name), restored(prefix, name, dtype))


@pytest.mark.parametrize("region", REGIONS)
def test_regions_are_what_tensorflow_restores(region, tmp_path):
    prefix = str(tmp_path / "ckpt")
    next(write for write in WRITERS if write.__name__ == "v2_grid")(prefix)
    (top, height), (left, width) = region
    expected = restored(prefix, "grid", tf.float32, f"5 6 {top},{height}:{left},{width}")
    assert_same(open_checkpoint(Folder(tmp_path), "ckpt").read_slice("grid", region), expected)


def test_tensorflow_reads_every_type_that_tfport_writes(tmp_path):
    tensors = every_type()
    write_bundle(tmp_path / "m", {n: (plain(t), t.dtype.as_datatype_enum) for n, t in tensors.items()})
    listed = listing(str(tmp_path / "m"))
    assert {name: dtype for name, (dtype, _) in listed.items()} == {n: t.dtype for n, t in tensors.items()}
    for name, tensor in tensors.items():
        assert_same(restored(str(tmp_path / "m"), name, tensor.dtype), plain(tensor))


def test_every_type_with_arrays_is_tried():
    tried = {tensor.dtype.as_datatype_enum for tensor in every_type().values()}
    assert {type_name(number) for number in NUMPY} == {type_name(number) for number in tried}


@pytest.mark.parametrize("region", REGIONS)
def test_tensorflow_restores_regions_of_slices_that_tfport_writes(region, tmp_path):
    cuts = [((0, 5), (0, 4)), ((0, 2), (4, 2)), ((2, 3), (4, 2))]
    parts = [("grid", BundleTensor(GRID[r : r + h, c : c + w], pb.DT_FLOAT, ((r, h), (c, w)), (5, 6)))
             for (r, h), (c, w) in cuts]  # fmt: skip
    write_bundle(tmp_path / "m", [*parts, ("whole", (GRID, pb.DT_FLOAT))])
    (top, height), (left, width) = region
    for name in ("grid", "whole"):
        array = restored(str(tmp_path / "m"), name, tf.float32, f"5 6 {top},{height}:{left},{width}")
        assert_same(array, GRID[top : top + height, left : left + width])
    assert_same(tf.train.load_checkpoint(str(tmp_path / "m")).get_tensor("grid"), GRID)


def test_tensorflow_restores_an_object_from_what_tfport_writes(tmp_path):
    variable = tf.Variable([1.0, 2.0])
    tf.train.Checkpoint(v=variable).write(str(tmp_path / "a"))
    before = open_checkpoint(Folder(tmp_path), "a")
    write_bundle(tmp_path / "b", ((n, (before.read(n), before.entry(n).dtype)) for n in before.names()))
    variable.assign([0.0, 0.0])
    tf.train.Checkpoint(v=variable).read(str(tmp_path / "b")).assert_consumed()
    assert variable.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("count", [1, 17, 9000])
def test_the_index_is_byte_for_byte_that_of_tensorflow(count, tmp_path):
    # of 64 bytes each, since TensorFlow leaves no space between tensors
    names = sorted(f"layer_{n}/kernel/.ATTRIBUTES/VARIABLE_VALUE" for n in range(count))
    save_v2(str(tmp_path / "tf"), {name: tf.zeros([4, 4]) for name in names})
    write_bundle(tmp_path / "us", ((name, (np.zeros((4, 4), np.float32), pb.DT_FLOAT)) for name in names))
    for end in (".index", ".data-00000-of-00001"):
        assert Path(f"{tmp_path}/us{end}").read_bytes() == Path(f"{tmp_path}/tf{end}").read_bytes()


def test_a_big_endian_checkpoint_says_the_same_to_both(tmp_path, monkeypatch):
    words, numbers = np.array([b"one", b"x" * 200], object), np.array([1.5, -2], np.float32)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "byteorder", "big")
        write_bundle(tmp_path / "m", {"f": (numbers.byteswap(), pb.DT_FLOAT), "s": (words, pb.DT_STRING)})
    for name, dtype, expected in (("f", tf.float32, numbers), ("s", tf.string, words)):
        assert_same(restored(str(tmp_path / "m"), name, dtype), expected)
        assert_same(open_checkpoint(Folder(tmp_path), "m").read(name), expected)


@pytest.mark.parametrize("name", ["int4", "int2", "float8_e4m3fn"])
def test_small_types_take_a_byte_an_element(name, tmp_path):
    save_v2(str(tmp_path / "m"), {"t": of_type(name)})
    assert (tmp_path / "m.data-00000-of-00001").stat().st_size == 4
