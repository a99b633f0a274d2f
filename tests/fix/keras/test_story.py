"""The story of a Keras file of 2019: the page shows what `fix` prints, except for digests."""

import re
import shutil
import sys
from pathlib import Path

from tfport.cli.main import main

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/stories/keras_2019.md"


def test_the_page_shows_what_fix_prints(tmp_path, monkeypatch, capsys):
    (shown,) = re.findall(r"^```text\n\$ tfport fix [^\n]*\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert main(["fix", "examples/reviews.h5", "--for", "keras==3.15.1", "-o", "reviews.keras"]) == 0
    printed = capsys.readouterr().out
    assert without_digests(printed) == without_digests(shown)


def without_digests(text: str) -> str:
    return re.sub(r"[0-9a-f]{64}", "DIGEST", text).strip()


def test_the_example_is_what_its_script_writes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    shutil.copy(ROOT / "examples/make_reviews.py", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import make_reviews

    make_reviews.main()
    from tfport.formats.find import find_model
    from tfport.formats.keras.read import read_keras

    files = [
        read_keras(find_model(str(p)).files, p.name) for p in (make_reviews.OUT, ROOT / "examples/reviews.h5")
    ]
    assert files[0].config == files[1].config
    for name, arrays in files[0].weights.lists.items():
        for new, old in zip(arrays, files[1].weights.lists[name], strict=True):
            assert (new.read() == old.read()).all()
    del sys.modules["make_reviews"]
