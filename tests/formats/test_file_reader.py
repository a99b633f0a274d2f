"""Files that a reader keeps: what others do to them does not matter, or is an error; no signal."""

import os
import time

import pytest

from tfport.errors import Error, UnreadableFile
from tfport.formats import file_reader
from tfport.formats.file_reader import MOST_READ, TICK, WHOLE_SECONDS, FileReader

SIZES = [0, 5, MOST_READ, MOST_READ + 5]


def written(path, size, byte=b"a"):
    path.write_bytes(byte * size)
    return str(path)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("disk", ["has space", "is full"])
def test_a_kept_file_stays_as_it_was(tmp_path, monkeypatch, size, disk):
    if disk == "is full":
        monkeypatch.setattr(file_reader, "RESERVE", 2**62)
    path, reader = written(tmp_path / "f", size), FileReader(keeps=True)
    view = reader.read(path)
    written(tmp_path / "f", size // 2, b"b")
    assert bytes(view) == b"a" * size
    assert reader.size(path) == size
    os.unlink(path)
    assert reader.has(path)
    if size:
        assert bytes(reader.read(path)) == b"a" * size  # the same copy, as long as somebody uses it


@pytest.mark.parametrize("size", SIZES)
def test_what_was_mapped_before_is_kept_at_the_same_address(tmp_path, size):
    path, reader = written(tmp_path / "f", size), FileReader()
    view = reader.read(path)[: size // 2]
    reader.keep()
    os.truncate(path, 0)
    assert bytes(view) == b"a" * (size // 2)


def test_keeping_what_was_truncated_is_an_error(tmp_path):
    path, reader = written(tmp_path / "f", MOST_READ + 5), FileReader()
    view = reader.read(path)
    os.truncate(path, 5)
    with pytest.raises(UnreadableFile, match="changed while the model was loaded"):
        reader.keep()
    assert bytes(view[:5]) == b"aaaaa"


def test_a_file_that_is_truncated_while_it_is_mapped_is_an_error(tmp_path, monkeypatch):
    path, reader = written(tmp_path / "f", MOST_READ + 5), FileReader()
    view = reader.read(path)
    real = file_reader.scratch_file

    def truncating(size):
        os.truncate(path, 5)
        return real(size)

    monkeypatch.setattr(file_reader, "scratch_file", truncating)
    with pytest.raises(UnreadableFile, match="changed while the model was loaded"):
        reader.keep()
    del view


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_file_that_changes_while_it_is_copied_is_an_error(tmp_path, monkeypatch, size):
    path, reader = written(tmp_path / "f", size), FileReader(keeps=True)
    for name in ("_in_memory", "_in_scratch_file"):
        copy = getattr(file_reader, name)

        def truncating(file, *args, copy=copy):
            os.truncate(path, size // 2)
            return copy(file, *args)

        monkeypatch.setattr(file_reader, name, truncating)
    with pytest.raises(UnreadableFile, match="changed while the model was loaded"):
        reader.read(path)


@pytest.mark.parametrize("size", [5, MOST_READ + 5])
@pytest.mark.parametrize(("part", "tick"), [(1, TICK), (0, WHOLE_SECONDS)])
def test_a_file_is_copied_when_the_next_change_would_have_another_time(
    tmp_path, monkeypatch, size, part, tick
):
    """Within a tick of the file system's clock, a file of the same size would look unchanged."""
    began = []
    for name in ("_in_memory", "_in_scratch_file"):
        copy = getattr(file_reader, name)

        def noting(file, *args, copy=copy):
            began.append(time.time_ns())
            return copy(file, *args)

        monkeypatch.setattr(file_reader, name, noting)
    path = written(tmp_path / "f", size)
    changed_at = time.time_ns() // 10**9 * 10**9 if part == 0 else time.time_ns() // 1000 * 1000 + 1
    os.utime(path, ns=(changed_at, changed_at))
    FileReader(keeps=True).read(path)
    assert began[0] >= changed_at + tick


CHANGES = {
    "written": lambda path: written(path, 5, b"b"),
    "longer": lambda path: written(path, 6),
    "replaced": lambda path: os.replace(written(path.with_name("other"), 5), path),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_the_block_is_an_error_also_in_place_of_others(tmp_path, change):
    path = tmp_path / "f"

    def read(error=None):
        reader = FileReader(keeps=True)
        written(path, 5)
        os.utime(path, (1, 1))
        with reader.unchanged():
            reader.read(str(path))
            CHANGES[change](path)
            if error is not None:
                raise error

    for error in (None, Error("a damaged file")):
        with pytest.raises(UnreadableFile, match=r"f: changed while the model was loaded"):
            read(error)


def test_a_block_does_not_look_at_what_was_read_before(tmp_path):
    path, reader = written(tmp_path / "f", 5), FileReader(keeps=True)
    view = reader.read(path)
    written(tmp_path / "f", 6)
    with reader.unchanged():
        assert bytes(reader.read(path)) == bytes(view) == b"aaaaa"


def test_files_that_only_we_write_are_not_copied(tmp_path):
    path, reader = written(tmp_path / "f", MOST_READ + 5), FileReader(keeps=True, is_private=True)
    with reader.unchanged():
        view = reader.read(path)
        reader.keep()
        written(tmp_path / "f", MOST_READ + 5, b"b")
    assert view[0] == ord("b")


def test_a_held_file_is_read_again_after_it_was_removed(tmp_path):
    path, reader = written(tmp_path / "f", 5), FileReader(keeps=True)
    reader.hold(path)
    os.unlink(path)
    assert bytes(reader.read(path)) == b"aaaaa"
