"""Each file of `tests.broken.make_files` gives the sentence that is recorded."""

from pathlib import Path

import pytest
from tests.broken import make_files
from tests.broken.record import SENTENCES, recorded

EXPECTED = recorded("files")
ON_PAGES = SENTENCES.with_name("files")
"""The files that pages name."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("broken") / "files"
    make_files.write(folder)
    return folder


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_that_is_not_a_model_gives_its_error(name, folder):
    assert make_files.sentence(folder / name) == EXPECTED[name]


def test_each_file_is_recorded():
    assert sorted(make_files.cases()) == sorted(EXPECTED)


def test_files_that_pages_name_are_those():
    files = make_files.cases()
    assert all(path.read_bytes() == files[path.name] for path in ON_PAGES.iterdir())
