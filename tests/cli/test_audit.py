"""`tfport audit`: what it prints, its exit codes, and the files that it writes."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.api.json_schema import misfits
from tests.audit.stores import NEW, OLD, small_store
from tests.recorded_models import path_of

from tfport.cli.main import main


def test_the_summary_as_text_json_and_page(tmp_path, capsys):
    store, output = str(small_store(tmp_path)), str(tmp_path / "audit.sqlite")
    command = ["audit", store, "--on", NEW, "--from", OLD, "-o", output, "--jobs", "1", "--group-by", "path"]
    assert main(command) == 2  # one model cannot be read
    text = capsys.readouterr().out
    assert f"from {OLD} to {NEW}" in text
    assert "not read  1 model" in text
    page = tmp_path / "page.html"
    assert main([*command, "--json", "--html", str(page)]) == 2
    document = json.loads(capsys.readouterr().out)
    assert misfits(document, "audit") == []
    assert (document["version"], document["models"], document["complete"]) == (1, 5, True)
    assert [group["group"] for group in document["groups"]] == ["team_b", "team_a"]
    assert '"audit":{"version":1' in page.read_text()


def test_exit_codes_are_those_of_check(tmp_path, capsys):
    shutil.copytree(path_of("keras_sequential"), tmp_path / "m/new")
    command = ["audit", str(tmp_path / "m"), "--jobs", "1", "--on"]
    assert main([*command, NEW]) == 0
    assert main([*command, OLD]) == 1
    assert main([*command, OLD, "--fail-on", "never"]) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["nowhere", "--on", NEW], "nowhere: no such file or directory"),
        ([".", "--on", "tensorflow==99"], "99"),
        ([".", "--on", NEW, "--group-by", "color"], "unknown group `color`"),
        ([".", "--on", NEW, "--memory", "much"], "--memory much: expected a size"),
        ([".", "--on", NEW, "--baseline", "nothing.sqlite"], "nothing.sqlite: no such file"),
    ],
)
def test_mistakes_are_one_sentence(options, sentence, capsys):
    assert main(["audit", *options]) == 2
    assert sentence in capsys.readouterr().err
