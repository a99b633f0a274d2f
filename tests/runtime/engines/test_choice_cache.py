"""The file of choices: what is remembered, and which files are ignored."""

import json

import pytest

from tfport.runtime.engines.choice_cache import (
    FILE,
    MAX_BYTES,
    MAX_CHOICES,
    Choice,
    ChoiceCache,
    default_folder,
)

FAST = Choice("openvino", 2)


def test_another_process_knows_the_choice(tmp_path):
    folder = tmp_path / "new" / "folder"
    ChoiceCache(folder).put("key", FAST)
    assert ChoiceCache(folder).get("key") == FAST
    assert ChoiceCache(folder).get("other") is None
    assert [path.name for path in folder.iterdir()] == [FILE]


def test_two_processes_keep_the_choices_of_both(tmp_path):
    first, second = ChoiceCache(tmp_path), ChoiceCache(tmp_path)
    first.put("a", FAST)
    second.put("b", Choice("onnxruntime", 1))
    assert ChoiceCache(tmp_path).get("a") == FAST
    assert ChoiceCache(tmp_path).get("b") == Choice("onnxruntime", 1)


def test_the_oldest_choices_are_forgotten(tmp_path):
    choices = {f"{i}": ["openvino", 1] for i in range(MAX_CHOICES)}
    (tmp_path / FILE).write_text(json.dumps({"version": 1, "choices": choices}))
    cache = ChoiceCache(tmp_path)
    cache.put("new", FAST)
    assert (cache.get("0"), cache.get("1"), cache.get("new")) == (None, Choice("openvino", 1), FAST)
    assert len(json.loads((tmp_path / FILE).read_text())["choices"]) == MAX_CHOICES


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"[1, 2]",
        b'{"version": 2, "choices": {"key": ["openvino", 2]}}',
        b'{"version": 1, "choices": ["key"]}',
        b'{"version": 1, "choices": {"key": ["/bin/sh", 2]}}',
        b'{"version": 1, "choices": {"key": ["openvino", 0]}}',
        b'{"version": 1, "choices": {"key": ["openvino", true]}}',
        b'{"version": 1, "choices": {"key": ["openvino", 1e9]}}',
        b'{"version": 1, "choices": {"key": "openvino"}}',
        b'{"version": 1, "choices": {"key": ["openvino", 2]}}'.ljust(MAX_BYTES) + b"}",
    ],
)
def test_a_damaged_or_foreign_file_is_ignored_and_replaced(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    cache = ChoiceCache(tmp_path)
    if len(content) < MAX_BYTES:
        assert cache.get("key") is None
    cache.put("good", FAST)
    assert ChoiceCache(tmp_path).get("good") == FAST


def test_without_a_place_to_write_choices_last_as_long_as_the_process(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for folder in (None, tmp_path / "file"):
        cache = ChoiceCache(folder)
        cache.put("key", FAST)
        assert cache.get("key") == FAST
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_where_choices_are_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("TFPORT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "tfport"
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"
    monkeypatch.setenv("TFPORT_CACHE", "")
    assert default_folder() is None
