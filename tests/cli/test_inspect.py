import json
import shutil
from pathlib import Path

import pytest
from tests.recorded_models import NAMES, load, path_of, shared

import tfport
from tfport.cli.main import main
from tfport.reports.console import plain
from tfport.reports.inspection import inspection_text


@pytest.mark.parametrize("name", NAMES)
def test_text_and_json_equal_those_of_the_api(name, capsys):
    assert main(["inspect", path_of(name)]) == 0
    assert capsys.readouterr().out == str(tfport.inspect(shared(name))) + "\n"
    assert main(["inspect", path_of(name), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == tfport.inspect(shared(name)).to_json()


def test_all_shows_every_row(capsys):
    assert main(["inspect", path_of("large_index"), "--all"]) == 0
    report = tfport.inspect(shared("large_index"))
    assert (
        capsys.readouterr().out == plain(lambda width: inspection_text(report, width, everything=True)) + "\n"
    )


def test_tags_choose_a_metagraph(capsys):
    assert main(["inspect", path_of("estimator"), "--tags", "train,cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tags"] == ["cpu", "train"]


def assert_refused(printed, ending: str) -> None:
    """One line on standard error, nothing on the other."""
    assert printed.out == ""
    assert printed.err.startswith("tfport: ")
    assert printed.err.endswith(f"{ending}\n")
    assert printed.err.count("\n") == 1


def test_unknown_tags_are_an_error(capsys):
    assert main(["inspect", path_of("estimator"), "--tags", "gpu"]) == 2
    assert_refused(capsys.readouterr(), "no MetaGraph has the tags {gpu}; expected {serve} and {cpu, train}")


def test_a_missing_path_is_an_error(capsys, tmp_path):
    assert main(["inspect", str(tmp_path / "nothing")]) == 2
    assert_refused(capsys.readouterr(), "")


def test_an_impossible_path_is_an_error(capsys):
    for path in ("", "\0", "x" * 5000, "a\nb"):
        assert main(["inspect", path]) == 2
        assert_refused(capsys.readouterr(), "")


def test_a_truncated_file_is_an_error(capsys, tmp_path):
    whole = Path(path_of("keras_lstm"), "saved_model.pb").read_bytes()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "saved_model.pb").write_bytes(whole[:size])
        assert main(["inspect", str(tmp_path)]) == 2
        assert_refused(capsys.readouterr(), "")


def test_a_model_with_missing_files_is_still_shown(capsys, tmp_path):
    folder = Path(shutil.copytree(path_of("table_from_file"), tmp_path / "m"))
    (folder / "assets/words.txt").unlink()
    (folder / "variables/variables.index").unlink()
    assert main(["inspect", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["problems"]) == 2
    assert document["signatures"]
    assert main(["inspect", str(folder)]) == 0
    assert "words.txt: missing" in capsys.readouterr().out.replace("\n  ", "")


def test_custom_ops_are_listed(capsys, tmp_path):
    model = load("frozen")
    model.graph.add("MyCustomMatMul", [list(model.graph)[-1].output(0)])
    tfport.save(model, str(tmp_path / "g.pb"))
    assert main(["inspect", str(tmp_path / "g.pb")]) == 0
    assert "custom ops  in no recorded release or add-on\n    MyCustomMatMul" in capsys.readouterr().out


def test_on_a_terminal_the_report_has_color_and_its_width(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["inspect", path_of("module")]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[1m" in shown
    assert "serving_default_x:0" in shown
