"""Base paths: local folders and folders in object stores."""

from __future__ import annotations

import fsspec
import pytest

from tfport.errors import UnreadableFile
from tfport.serve.models.store import LocalStore, RemoteStore, open_store

NAMES = [  # folders, versions
    (["1", "2"], {1: "1", 2: "2"}),
    (["00000123"], {123: "00000123"}),
    (["001", "1"], {1: "1"}),
    (["0"], {0: "0"}),
    (["-1", "1.5", "v2", "temp-3", "٣", " 4", "1_0"], {}),
    ([str(2**63), str(2**63 - 1)], {2**63 - 1: str(2**63 - 1)}),
    (["1" * 5000], {}),
]


@pytest.mark.parametrize(("folders", "versions"), NAMES[:-1])
def test_numbered_folders_are_versions(tmp_path, folders, versions):
    for name in folders:
        (tmp_path / name).mkdir()
    (tmp_path / "7").write_text("a file is no version")
    assert open_store(str(tmp_path)).versions() == {n: str(tmp_path / f) for n, f in versions.items()}
    assert open_store(f"file://{tmp_path}").versions().keys() == versions.keys()


@pytest.mark.parametrize(("folders", "versions"), NAMES)
def test_the_same_in_a_store(request, folders, versions):
    files, base = fsspec.filesystem("memory"), f"/{request.node.name.partition('[')[2][:8]}"
    for name in folders:
        files.pipe(f"{base}/{name}/saved_model.pb", b"x")
    files.pipe(f"{base}/7", b"a file is no version")
    try:
        assert open_store(f"memory:/{base}").versions() == {n: f"{base}/{f}" for n, f in versions.items()}
    finally:
        files.rm(base, recursive=True)


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt", "model.json", "m.keras", "m.h5"])
def test_a_model_itself_is_its_version_1(tmp_path, name):
    (tmp_path / name).write_text("")
    assert open_store(str(tmp_path)).versions() == {1: str(tmp_path)}
    assert open_store(str(tmp_path / name)).versions() == {1: str(tmp_path / name)}
    (tmp_path / "3").mkdir()
    assert open_store(str(tmp_path)).versions() == {3: str(tmp_path / "3")}


MISSING = [  # base path, message
    ("/nowhere/at/all", "/nowhere/at/all: "),
    ("memory://nowhere", "memory://nowhere: no such folder"),
    ("unheard://of", "unheard://of: Protocol not known"),
]


@pytest.mark.parametrize(("base", "message"), MISSING)
def test_a_missing_base_path(base, message):
    with pytest.raises(UnreadableFile, match=message):
        open_store(base).versions()


def test_a_stamp_changes_when_something_is_written(tmp_path):
    (tmp_path / "1").mkdir()
    store, path = LocalStore(str(tmp_path)), str(tmp_path / "1")
    stamps = [store.stamp(path)]
    (tmp_path / "1/a").write_text("1")
    stamps.append(store.stamp(path))
    (tmp_path / "1/a").write_text("12")
    stamps.append(store.stamp(path))
    assert len(set(stamps)) == 3
    assert store.stamp(path) == stamps[-1]


def test_a_stamp_of_a_file_changes_when_it_is_written(tmp_path):
    file = tmp_path / "model.keras"
    store, stamps = LocalStore(str(file)), []
    for content in ("1", "12"):
        file.write_text(content)
        stamps.append(store.stamp(str(file)))
    assert stamps[0] != stamps[1]


def test_a_copy_is_whole_and_has_all_files(tmp_path):
    files = fsspec.filesystem("memory")
    files.pipe({"/copied/1/saved_model.pb": b"a", "/copied/1/variables/variables.index": b"b"})
    try:
        store = RemoteStore("memory://copied")
        got = store.fetch("/copied/1", tmp_path / "deep" / "1-0")
        assert got == tmp_path / "deep" / "1-0"
        fetched = {str(p.relative_to(got)): p.read_bytes() for p in got.rglob("*") if p.is_file()}
        assert fetched == {"saved_model.pb": b"a", "variables/variables.index": b"b"}
        assert [p.name for p in got.parent.iterdir()] == ["1-0"]
        assert store.stamp("/copied/1")
    finally:
        files.rm("/copied", recursive=True)


def test_names_that_lead_elsewhere_are_not_copied(tmp_path):
    files = fsspec.filesystem("memory")
    files.store["/evil/1/../../../out"] = files.open("/evil/1/x", "wb")
    try:
        with pytest.raises(UnreadableFile, match="invalid name for a file of a model"):
            RemoteStore("memory://evil").fetch("/evil/1", tmp_path / "c")
    finally:
        files.store.clear()
    assert list(tmp_path.iterdir()) == []
