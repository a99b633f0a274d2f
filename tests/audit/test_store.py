"""Which folders of a store may have models, and what their versions are called."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.audit.stores import small_store
from tests.recorded_models import path_of

from tfport.audit.examine import AuditQuestions, examine_folder
from tfport.audit.store import ModelFolder, folders_of, name_and_version
from tfport.errors import Error

fsspec = pytest.importorskip("fsspec")


def rows_of(store):
    questions = AuditQuestions(("tensorflow==2.15.1",), scan=False)
    folders = folders_of(str(store))
    return {
        row["path"].removeprefix(f"{store}/"): row
        for folder in folders
        for row in examine_folder(folder, folder.path, questions, lambda path: None)
    }


def test_models_are_recognized_by_their_content(tmp_path):
    rows = rows_of(small_store(tmp_path))
    assert {path: row.get("format") for path, row in rows.items()} == {
        "team_a/half/1": "saved_model",
        "team_a/half/2": "saved_model",
        "team_b/graphs/loops.pb": "graph_def",
        "team_b/graphs/frozen.pb": "graph_def",
        "team_b/empty": None,
    }
    assert rows["team_b/empty"]["error"].endswith("an empty file; download or copy it again")


def test_versions_of_one_model_share_its_name(tmp_path):
    store = small_store(tmp_path)
    rows = rows_of(store)
    assert [(rows[f"team_a/half/{v}"]["name"], rows[f"team_a/half/{v}"]["version"]) for v in "12"] == [
        (f"{store}/team_a/half", "1"),
        (f"{store}/team_a/half", "2"),
    ]


@pytest.mark.parametrize(
    ("folder", "path", "expected"),
    [
        ("m/1", "m/1", ("m", "1")),
        ("m/1", "m/1/a.h5", ("m/a.h5", "1")),
        ("m/a", "m/a", ("m/a", "")),
        (
            "c/models--org--bert/snapshots/9f1",
            "c/models--org--bert/snapshots/9f1/m.h5",
            ("org/bert/m.h5", "9f1"),
        ),
    ],
)
def test_names_and_versions(folder, path, expected):
    assert name_and_version(path, ModelFolder(folder)) == expected


def test_a_list_names_stores(tmp_path):
    store = small_store(tmp_path)
    (tmp_path / "list.txt").write_text(f"# ours\n{store}/team_a\n\n{store}/team_b/graphs/loops.pb\n")
    assert [folder.path for folder in folders_of(f"@{tmp_path}/list.txt")] == [
        f"{store}/team_a/half/1",
        f"{store}/team_a/half/2",
        f"{store}/team_b/graphs/loops.pb",
    ]
    (tmp_path / "nested.txt").write_text("@list.txt\n")
    with pytest.raises(Error, match="a list in a list"):
        list(folders_of(f"@{tmp_path}/nested.txt"))


def test_links_in_a_circle_end(tmp_path):
    store = small_store(tmp_path)
    os.symlink(store, store / "team_a/again")
    assert len(list(folders_of(str(store)))) == len({folder.path for folder in folders_of(str(store))}) == 5


def test_a_stamp_changes_with_the_weights(tmp_path):
    shutil.copytree(path_of("half_plus_two"), tmp_path / "m")
    (before,) = folders_of(str(tmp_path))
    weights = next((tmp_path / "m/variables").glob("*.data*"))
    os.utime(weights, ns=(0, 1))
    (after,) = folders_of(str(tmp_path))
    assert before.stamp != after.stamp


def test_a_remote_store_has_the_same_folders(tmp_path):
    store = small_store(tmp_path)
    memory = fsspec.filesystem("memory")
    memory.put(str(store), "/bucket/store", recursive=True)
    try:
        remote = {folder.path: folder.files for folder in folders_of("memory://bucket/store")}
        local = {folder.path: folder.files for folder in folders_of(str(store))}
        assert {path.partition("bucket/store")[2]: files for path, files in remote.items()} == {
            path.removeprefix(str(store)): files for path, files in local.items()
        }
    finally:
        memory.rm("/bucket", recursive=True)
