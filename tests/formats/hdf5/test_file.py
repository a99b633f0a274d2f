"""The HDF5 reader against h5py."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest
from tests.formats.hdf5.samples import VERSIONS, expected, opened, written

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.file import Hdf5Group


@pytest.mark.parametrize("version", VERSIONS)
def test_arrays_and_attributes_are_those_of_h5py(version):
    data = written(**VERSIONS[version])
    root = opened(data)
    attributes, arrays = expected(data)
    assert attributes.keys() == root.attributes.keys()
    for name, value in attributes.items():
        assert np.array_equal(plain(value), plain(root.attributes[name])), name
    for name, array in arrays.items():
        dataset = root.find(name)
        assert isinstance(dataset, Hdf5Dataset)
        read = dataset.read()
        assert read.dtype == array.dtype, name
        assert read.shape == array.shape == dataset.shape
        assert read.tolist() == array.tolist() if array.dtype == object else read.tobytes() == array.tobytes()


def plain(value: object) -> np.ndarray:
    """Text as bytes, which is how it is stored."""
    array = np.asarray(value)
    texts = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
    return np.array(texts, object).reshape(array.shape)


@pytest.mark.parametrize("filters", [{}, {"compression": "gzip"}, {"shuffle": True}, {"fletcher32": True}, {
    "compression": "gzip", "shuffle": True, "fletcher32": True}], ids=str)  # fmt: skip
@pytest.mark.parametrize("chunks", [(1, 53), (10, 7), (37, 53)])
def test_chunks(filters, chunks):
    grid = np.random.default_rng(1).normal(size=(37, 53))
    root = opened(file_with(lambda f: f.create_dataset("a", data=grid, chunks=chunks, **filters)))
    assert np.array_equal(root.find("a").read(), grid)


def file_with(write, **options) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        write(file)
    return buffer.getvalue()


def test_nothing_at_a_path():
    root = opened(file_with(lambda f: f.create_dataset("a/b", data=[1])))
    assert isinstance(root.find("a"), Hdf5Group)
    assert root.find("a/c") is None
    assert root.find("a/b/c") is None


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (h5py.SoftLink("/other"), "a soft link to `/other`"),
        (h5py.ExternalLink("/etc/data.h5", "/x"), "an external link to `/x` in the file `/etc/data.h5`"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"libver": "latest"}], ids=str)
def test_links_are_listed_and_not_followed(link, target, options):
    root = opened(file_with(lambda f: f.__setitem__("a", link), **options))
    assert root.links["a"].address is None
    assert root.links["a"].target == target
    assert root.find("a") == root.links["a"]
    with pytest.raises(UnreadableFile, match="tfport does not follow it"):
        root.open(root.links["a"])


def test_elements_in_another_file_are_not_read(tmp_path):
    (tmp_path / "x.raw").write_bytes(bytes(16))
    external = [(str(tmp_path / "x.raw"), 0, 16)]
    data = file_with(lambda f: f.create_dataset("a", shape=(4,), dtype="f4", external=external))
    dataset = opened(data).find("a")
    assert dataset.external
    with pytest.raises(UnreadableFile, match="a dataset whose elements are in another file"):
        dataset.read()


def test_a_shape_that_the_file_cannot_store_is_refused():
    shape = (1 << 20, 1 << 20)
    data = file_with(lambda f: f.create_dataset("a", shape=shape, dtype="f4", chunks=(1 << 10, 1 << 10)))
    dataset = opened(data).find("a")
    assert dataset.is_impossible
    with pytest.raises(UnreadableFile, match="needs 4398046511104 bytes, but the file of"):
        dataset.read()


def test_an_array_without_stored_elements_is_not_made_large():
    data = file_with(lambda f: f.create_dataset("a", shape=(1 << 25,), dtype="f4"))
    with pytest.raises(UnreadableFile, match="needs 134217728 bytes"):
        opened(data + bytes(1 << 20)).find("a").read()


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda f: f.create_dataset("a", data=np.zeros(9), chunks=(3,), compression="lzf"), "with lzf"),
        (lambda f: f.create_dataset("a", data=np.zeros(9), chunks=(3,), scaleoffset=2), "with scaleoffset"),
        (lambda f: f.create_dataset("a", data=np.zeros(2, "i4,f4")), "elements of a compound type"),
        (lambda f: f.create_dataset("a", (2,), h5py.vlen_dtype("i4")), "of variable length"),
    ],
)
def test_what_cannot_be_read_is_named(write, message):
    with pytest.raises(UnreadableFile, match=message):
        opened(file_with(write)).find("a").read()


def test_a_cut_file_is_not_opened_as_in_hdf5(tmp_path):
    data = bytes(file_with(lambda f: f.create_dataset("a", data=np.arange(4096))))
    said = f"the file has {len(data) - 1} of its {len(data)} bytes; it was cut short"
    with pytest.raises(UnreadableFile, match=rf"^m\.h5, byte \d+: damaged HDF5: {said}"):
        opened(data[:-1])
    (tmp_path / "m.h5").write_bytes(data[:-1])
    with pytest.raises(OSError, match="truncated file"):
        h5py.File(tmp_path / "m.h5")


def test_a_structure_outside_of_the_file_says_where():
    data = bytearray(file_with(lambda f: f.create_dataset("a", data=np.arange(4096))))
    data[40:48] = b"\xff" * 8  # the file does not say how long it is
    with pytest.raises(UnreadableFile, match=r"^m\.h5, byte \d+: damaged HDF5: a needs 32768 bytes"):
        opened(bytes(data[:10000])).find("a").read()
