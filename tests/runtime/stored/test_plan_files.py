"""The folder of stored plans: its size is bounded, and what was never finished is removed."""

import os
import time

import pytest

from tfport.runtime.stored.plan_files import GIVEN_UP, RECORD, UNFINISHED, PlanFiles, mark_used


@pytest.fixture
def files(tmp_path):
    return PlanFiles(tmp_path, max_bytes=250)


def add(files, name, size=100, age=0):
    folder = files.begin()
    (folder / RECORD).write_bytes(b"x" * size)
    os.utime(folder / RECORD, (time.time() - age,) * 2)
    files.finish(folder, "model", name)


def names(files):
    return sorted(path.name for path in files.of_model("model"))


def test_the_plan_that_was_not_used_for_longest_makes_room(files):
    add(files, "a", age=30)
    add(files, "b", age=20)
    mark_used(files.path("model", "a"))
    add(files, "c")
    assert names(files) == ["a", "c"]


def test_a_plan_that_is_too_large_is_not_kept(files):
    add(files, "a")
    add(files, "b", size=300)
    assert names(files) == ["a"]
    assert [path.name for path in files.folder.iterdir()] == ["model"]


def test_the_first_of_two_equal_plans_stays(files):
    add(files, "a", size=10)
    add(files, "a", size=20)
    assert (files.path("model", "a") / RECORD).stat().st_size == 10
    assert [path.name for path in files.folder.iterdir()] == ["model"]


def test_what_was_never_finished_is_removed_after_a_while(files):
    old, new = files.begin(), files.begin()
    os.utime(old, (time.time() - 2 * GIVEN_UP,) * 2)
    add(files, "a")
    left = [path for path in files.folder.iterdir() if path.name.startswith(UNFINISHED)]
    assert left == [new]


def test_nothing_is_begun_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert PlanFiles(tmp_path / "file").begin() is None
