"""Progress for a program that starts a command."""

import json

from tests.recorded_models import path_of

from tfport.cli.main import main
from tfport.cli.progress import show_progress
from tfport.progress_step import ProgressStep


def test_each_step_is_a_line_of_json(capsys, monkeypatch):
    monkeypatch.setenv("TFPORT_PROGRESS", "1")
    with show_progress("reading") as progress:
        progress("comparing\noutputs")
        progress(ProgressStep("run 2 of 4", 1, 4))
    assert list(map(json.loads, capsys.readouterr().err.splitlines())) == [
        {"progress": "comparing\noutputs", "fraction": None},
        {"progress": "run 2 of 4", "fraction": 0.25},
    ]


def test_repeated_runs_tell_how_many_are_done(capsys, monkeypatch):
    monkeypatch.setenv("TFPORT_PROGRESS", "1")
    assert main(["run", str(path_of("half_plus_two_tf2")), "--input", "x=[1.0]", "--repeat", "4"]) == 0
    steps = map(json.loads, capsys.readouterr().err.splitlines())
    assert [step["fraction"] for step in steps] == [0, 0.25, 0.5, 0.75]


def test_a_rewrite_tells_how_many_trials_are_done(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TFPORT_PROGRESS", "1")
    target = ["--for", "tensorflow==1.13.2"]
    assert main(["fix", "examples/attention", *target, "-o", str(tmp_path / "out"), "--json"]) == 0
    lines = map(json.loads, capsys.readouterr().err.splitlines())
    fractions = [line["fraction"] for line in lines if "rewritten" in line["progress"]]
    assert len(fractions) > 3
    assert fractions == [done / len(fractions) for done in range(len(fractions))]


def test_nothing_is_printed_without_a_terminal(capsys, monkeypatch):
    monkeypatch.delenv("TFPORT_PROGRESS", raising=False)
    with show_progress("reading") as progress:
        progress("comparing")
    assert capsys.readouterr().err == ""
