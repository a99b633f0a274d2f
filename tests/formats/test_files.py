"""Files of a folder: what is read at once, and what is mapped."""

import mmap

import pytest

from tfport.errors import UnreadableFile
from tfport.formats.file_reader import MOST_READ
from tfport.formats.files import Folder


@pytest.mark.parametrize("contents", [b"", b"graph", bytes(MOST_READ)])
def test_a_small_file_may_be_overwritten_while_it_is_read(tmp_path, contents):
    """As `cp` and `rsync --inplace` do; a mapped file would end the process."""
    path = tmp_path / "saved_model.pb"
    path.write_bytes(contents)
    data = Folder(tmp_path).map(path.name)
    path.write_bytes(b"")
    assert data == contents


def test_a_large_file_is_mapped(tmp_path):
    path = tmp_path / "variables.data"
    with path.open("wb") as file:
        file.truncate(MOST_READ + 1)
    data = Folder(tmp_path).map(path.name)
    assert isinstance(data.obj, mmap.mmap)
    assert len(data) == MOST_READ + 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"nowhere\.pb: no such file"):
        Folder(tmp_path).map("nowhere.pb")
