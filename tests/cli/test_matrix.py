import json
from pathlib import Path

import pytest
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main
from tfport.matrix.matrix import matrix_of

ATTENTION = str(Path(__file__).parents[2] / "examples/attention")


def test_text_and_json_equal_those_of_the_api(capsys):
    matrix = matrix_of(tfport.load(ATTENTION))
    assert main(["matrix", ATTENTION]) == 0
    assert capsys.readouterr().out == f"{matrix}\n"
    assert main(["matrix", ATTENTION, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == matrix.to_json()


def test_options_restrict_the_matrix(capsys):
    options = (
        "--device gpu --loader capi --loader serving --signature serving_default --since 1.13 --until 1.14"
    )
    assert main(["matrix", ATTENTION, *options.split(), "--tags", "serve", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(s["device"], s["loader"], s["signatures"]) for s in document["strips"]] == [
        ("gpu", "capi", ["serving_default"]),
        ("gpu", "serving", ["serving_default"]),
    ]
    assert [r["target"] for r in document["strips"][0]["releases"]] == [
        "tensorflow-gpu==1.13.1", "tensorflow-gpu==1.13.2", "tensorflow-gpu==1.14.0"
    ]  # fmt: skip


def test_all_lists_every_patch(capsys):
    assert main(["matrix", ATTENTION, "--since", "1.13", "--until", "1.14", "--all"]) == 0
    shown = capsys.readouterr().out
    assert "  1.13.1  fails at load  BatchMatMulV2 (TFP101)\n" in shown
    assert "  1.14.0  runs\n" in shown


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ("--signature other", "no signature other; available: serving_default"),
        ("--since 3", "no release from 3 to the newest is recorded"),
        ("--until two", "'two' is not a release number; expected one such as 2.8.4"),
    ],
)
def test_unknown_values_are_one_sentence(options, ending, capsys):
    assert main(["matrix", ATTENTION, *options.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tfport: ")
    assert printed.err.endswith(f"{ending}\n")


def test_an_unknown_loader_is_an_error(capsys):
    with pytest.raises(SystemExit) as error:
        main(["matrix", ATTENTION, "--loader", "java"])
    assert error.value.code == 2
    assert "argument --loader: invalid choice: 'java'" in capsys.readouterr().err


def test_an_existing_page_is_not_overwritten(capsys, tmp_path):
    page = tmp_path / "new" / "out.html"
    assert main(["matrix", ATTENTION, "--html", str(page)]) == 0
    before = page.read_text()
    assert before.startswith("<!DOCTYPE html>")
    assert main(["matrix", ATTENTION, "--html", str(page)]) == 2
    assert capsys.readouterr().err.startswith(f"tfport: {page}: already exists")
    assert page.read_text() == before
    assert list(page.parent.iterdir()) == [page]


def test_on_a_terminal_the_matrix_has_color(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["matrix", path_of("keras_lstm"), "--device", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[31mx" in shown
    assert "\x1b[32m●" in shown
