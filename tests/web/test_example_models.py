"""Example models and recent models."""

import json

import tfport
from tfport.web.example_models import EXAMPLES, write_examples
from tfport.web.state import MOST, RecentModels


def test_the_examples_can_be_opened(ui):
    examples = ui.get("/examples").json["models"]
    assert [entry["name"] for entry in examples] == list(EXAMPLES)
    assert all(entry["example"] for entry in examples)
    for entry in examples:
        assert ui.get(f"/models/{entry['id']}/inspect").json["graph"]["nodes"] > 5
    listed = [entry["id"] for entry in ui.get("/models").json["models"]]
    assert not set(listed) & {entry["id"] for entry in examples}


def test_the_examples_run_in_tfport(tmp_path):
    for path in write_examples(tmp_path):
        assert tfport.check(str(path), "tfport").verdict == "runs"


def test_recent_models_are_bounded_and_a_broken_file_is_ignored(tmp_path):
    recent = RecentModels(tmp_path / "cache/recent.json")
    assert recent.paths() == []
    for number in range(30):
        recent.add(f"/m{number}")
    recent.add("/m25")
    assert recent.paths()[:2] == ["/m25", "/m29"]
    assert len(recent.paths()) == MOST
    for broken in (b"{", b'{"a": 1}', b"[1, null]"):
        (tmp_path / "cache/recent.json").write_bytes(broken)
        assert recent.paths() == []
    assert json.loads((tmp_path / "cache/recent.json").read_text()) == [1, None]
