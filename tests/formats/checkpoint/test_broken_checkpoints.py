"""Each folder of tests/broken/checkpoints gives the error in its error.txt."""

import os
from pathlib import Path

import pytest

from tfport.errors import Error
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.files import Folder

CASES = sorted((Path(__file__).parents[2] / "broken" / "checkpoints").iterdir())


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_a_malformed_checkpoint_gives_its_error(folder):
    with pytest.raises(Error) as raised:
        read_everything(folder)
    assert str(raised.value).replace(f"{folder}{os.sep}", "") == (folder / "error.txt").read_text().rstrip(
        "\n"
    )


def read_everything(folder):
    checkpoint = open_checkpoint(Folder(folder), "ckpt")
    for name in checkpoint.names():
        checkpoint.read(name)
