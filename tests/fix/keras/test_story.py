"""The story of a Keras file of 2019: the page shows what `fix` prints, except for digests."""

import re
from pathlib import Path

from tests.frontends.keras.models import make_reviews

from tfport.cli.main import main
from tfport.formats.files import Folder
from tfport.formats.keras.read import read_keras

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/stories/keras_2019.md"


def test_the_page_shows_what_fix_prints(tmp_path, monkeypatch, capsys):
    (block,) = re.findall(r"^```text\n\$ tfport (fix .*?)^```$", PAGE.read_text(), re.M | re.S)
    command, _, shown = block.partition("\n")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 0
    assert without_digests(capsys.readouterr().out) == without_digests(shown)


def without_digests(text: str) -> str:
    return re.sub(r"[0-9a-f]{64}", "DIGEST", text).strip()


def test_the_file_is_what_its_script_writes(tmp_path):
    make_reviews.write(tmp_path / "reviews.h5")
    new = read_keras(Folder(str(tmp_path)), "reviews.h5")
    old = read_keras(Folder(str(make_reviews.OUT.parent)), "reviews.h5")
    assert new.config == old.config
    for name, arrays in new.weights.lists.items():
        for first, second in zip(arrays, old.weights.lists[name], strict=True):
            assert (first.read() == second.read()).all()
