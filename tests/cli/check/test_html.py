"""`tfport check --html` and `tfport inspect --html`."""

from pathlib import Path

import pytest
from tests.static_page.embedded import assert_stands_alone

from tfport.cli.main import main

ATTENTION = str(Path(__file__).parents[3] / "examples/attention")


def test_check_writes_a_page(tmp_path):
    page = tmp_path / "out.html"
    assert main(["check", ATTENTION, "--on", "tensorflow==1.13.2", "--html", str(page)]) == 1
    documents = assert_stands_alone(page.read_text()).documents
    assert documents["check"]["results"][0]["findings"][0]["op"] == "BatchMatMulV2"
    assert "main" in documents["graph"]


def test_inspect_writes_a_page_and_overwrites_nothing(tmp_path, capsys):
    page = tmp_path / "out.html"
    assert main(["inspect", ATTENTION, "--html", str(page)]) == 0
    assert capsys.readouterr().out == ""
    assert "BatchMatMulV2" in assert_stands_alone(page.read_text()).documents["inspect"]["ops"]["total"]
    assert main(["inspect", ATTENTION, "--html", str(page)]) == 2


@pytest.mark.parametrize("others", [["--json"], ["-o", "x"], ["--format", "sarif"]])
def test_a_page_is_the_only_report(tmp_path, capsys, others):
    page = tmp_path / "out.html"
    assert main(["check", ATTENTION, "--on", "tensorflow==1.13.2", "--html", str(page), *others]) == 2
    assert "--html cannot be combined" in capsys.readouterr().err
    assert not page.exists()


def test_a_page_is_about_one_model(tmp_path, capsys):
    page = tmp_path / "out.html"
    assert main(["check", ATTENTION, ATTENTION, "--on", "tensorflow==1.13.2", "--html", str(page)]) == 2
    assert "one model" in capsys.readouterr().err
    assert not page.exists()
