"""Files that are written whole or not at all, and copies of a model's files."""

import mmap
import os

import pytest

from tfport.formats.files import Folder, MemoryFiles
from tfport.formats.output import CHUNK, certificate_paths, copy_file, replace_file


class RecordingMap(mmap.mmap):
    """A mapped file that counts how often its memory was released."""

    released = 0

    def madvise(self, option, *place):
        assert option == mmap.MADV_DONTNEED
        RecordingMap.released += 1
        return super().madvise(option, *place)


def test_a_copy_holds_one_part_of_a_mapped_file_in_memory(tmp_path):
    content = b"0123456789" * (CHUNK // 4)
    (tmp_path / "weights").write_bytes(content)
    with open(tmp_path / "weights", "rb") as file:
        mapped = RecordingMap(file.fileno(), 0, access=mmap.ACCESS_READ)
    copy_file(MemoryFiles("model", {"weights": memoryview(mapped)}), "weights", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content
    assert RecordingMap.released == -(-len(content) // CHUNK) == 3


def test_a_small_file_is_copied(tmp_path):
    (tmp_path / "small").write_bytes(b"ab")
    copy_file(Folder(tmp_path), "small", tmp_path / "new" / "copy")
    assert (tmp_path / "new" / "copy").read_bytes() == b"ab"


def test_a_file_is_replaced_and_a_reader_keeps_the_old_one(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with path.open("rb") as reader:
        replace_file(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_replaced_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "folder", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("path", ["out", "out\\", "out/"])
def test_certificates_lie_beside_a_folder_with_any_slash_at_its_end(path, monkeypatch):
    monkeypatch.setattr(os, "sep", "\\")
    monkeypatch.setattr(os, "altsep", "/")
    assert certificate_paths(path) == ["out.certificate.json", "out.certificate.html"]
