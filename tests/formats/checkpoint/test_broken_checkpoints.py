"""Each checkpoint of `tests.broken.make_checkpoints` gives the sentence that is recorded."""

from pathlib import Path

import pytest
from tests.broken import make_checkpoints
from tests.broken.record import recorded

EXPECTED = recorded("checkpoints")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    make_checkpoints.write(folder)
    return folder


@pytest.mark.parametrize("name", EXPECTED)
def test_a_malformed_checkpoint_gives_its_error(name, folder):
    assert make_checkpoints.sentence(folder / name) == EXPECTED[name]


def test_each_checkpoint_is_recorded():
    assert sorted(make_checkpoints.CASES) == sorted(EXPECTED)
