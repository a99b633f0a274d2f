"""Progress for a program that starts a command."""

import json

from tfport.cli.progress import show_progress


def test_each_step_is_a_line_of_json(capsys, monkeypatch):
    monkeypatch.setenv("TFPORT_PROGRESS", "1")
    with show_progress("reading") as progress:
        progress("comparing\noutputs")
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line) == {"progress": "comparing\noutputs"}


def test_nothing_is_printed_without_a_terminal(capsys, monkeypatch):
    monkeypatch.delenv("TFPORT_PROGRESS", raising=False)
    with show_progress("reading") as progress:
        progress("comparing")
    assert capsys.readouterr().err == ""
