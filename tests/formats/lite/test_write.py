"""Files whose constants are behind the flatbuffer, as in those of more than 2 GB."""

import io
import zipfile

import numpy as np
import pytest
from tests.check.lite.make_files import builtin, file, subgraph, tensor

import tfport
from tfport.formats.lite.packed import with_packed
from tfport.formats.lite.records import LiteFile
from tfport.formats.lite.write import LARGE, lite_bytes

SMALL, FIRST, SECOND = b"\1" * (LARGE - 1), b"\2" * LARGE, b"\3" * (LARGE + 5)


def _file() -> LiteFile:
    added = subgraph(
        builtin("ADD"), tensor((1, 256)), tensor((1, 256), buffer=2), tensor((1, 256)), inputs=2,
        options_type="AddOptions",
    )  # fmt: skip
    record = file(added, buffers=(SMALL, FIRST, SECOND, FIRST))
    record.metadata = [("min_runtime_version", 4)]
    return record


def test_large_constants_are_outside_and_aligned():
    read = tfport.load(lite_bytes(_file(), largest=0)).lite
    assert read.outside == {2, 3}  # a small one and that of metadata are inside
    assert [bytes(data) for data in read.buffers] == [b"", SMALL, FIRST, SECOND, FIRST]
    content = lite_bytes(_file(), largest=0)
    assert content.index(SECOND) % 16 == content.rindex(FIRST, 0, content.index(SECOND)) % 16 == 0


def test_small_files_have_them_inside():
    assert tfport.load(lite_bytes(_file())).lite.outside == frozenset()


@pytest.mark.parametrize("largest", [0, 1 << 30])
def test_both_answer_the_same(largest):
    session = tfport.Session(tfport.load(lite_bytes(_file(), largest=largest)))
    (answer,) = session.signature("serving_default")(x0=np.zeros((1, 256), np.float32)).values()
    np.testing.assert_array_equal(answer.reshape(-1).view(np.uint8), np.frombuffer(FIRST, np.uint8))


def test_a_place_after_the_end_is_refused():
    content = lite_bytes(_file(), largest=0)
    with pytest.raises(tfport.Error, match="end after the file"):
        tfport.load(content[:-8])


@pytest.mark.parametrize("kind", ["TYPE_99", "TYPE_-1"])
def test_types_that_the_schema_does_not_have_stay(kind):
    record = file(subgraph(builtin("RELU"), tensor(kind=kind), tensor()))
    assert tfport.load(lite_bytes(record)).lite.subgraphs[0].tensors[0].type == kind


def test_packed_files_stay_behind_the_file():
    labels = {"labels.txt": b"cat\ndog\n"}
    content = with_packed(lite_bytes(_file()), labels)
    read = tfport.load(content).lite
    assert read.packed() == labels
    again = lite_bytes(read)
    assert tfport.load(again).lite.packed() == labels
    with zipfile.ZipFile(io.BytesIO(again)) as archive:
        assert [member.compress_type for member in archive.infolist()] == [zipfile.ZIP_STORED]


@pytest.mark.parametrize("end", [b"PK\x05\x06", b"PK\x05\x06" + bytes(18), b"PK\x05\x06" + b"\xff" * 18])
def test_a_damaged_archive_behind_the_file_is_ignored(end):
    content = lite_bytes(_file()) + end
    assert tfport.load(content).lite.packed() == {}
