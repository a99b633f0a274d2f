"""Findings that a project allows are notes, with their reason, until the last day."""

import datetime
import json

import pytest
from tests.scan.test_graph_risks import NAME, X, saved_model

from tfport.cli.main import main

ROW = '[[scan.allow]]\ncode = "TFP901"\nreason = "a public file"\n'
TOMORROW = datetime.date.today() + datetime.timedelta(days=1)
YESTERDAY = datetime.date.today() - datetime.timedelta(days=1)
ROWS = [  # configuration, exit code, severity, part of the reason
    ("", 1, "error", "leaves the machine"),
    (ROW, 0, "note", "allowed: a public file"),
    (ROW + 'model = "models/*"', 0, "note", "allowed: a public file"),
    (ROW + 'model = "other/*"', 1, "error", "leaves the machine"),
    (ROW.replace("901", "902"), 1, "error", "leaves the machine"),
    (ROW + f"until = {TOMORROW}", 0, "note", "allowed: a public file"),
    (ROW + f"until = {YESTERDAY}", 1, "error", f"allowed until {YESTERDAY} only (a public file)"),
]
WRONG = [
    ("[scan]\nallow = 3", "`scan.allow` is a number"),
    ("[[scan.allow]]\ncode = 'TFP901'", "scan.allow 1: `reason` is missing"),
    (ROW + "until = 'soon'", "`until` is a string; expected a day"),
    (ROW + "path = 'x'", "unknown key `path`; expected code, model, reason or until"),
    ("[scan]\ndeny = []", "`scan` is not [[scan.allow]]"),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "models" / "m").mkdir(parents=True)
    saved_model(tmp_path / "models" / "m", X + NAME + "y = ReadFile(f)")
    monkeypatch.chdir(tmp_path / "models")
    return tmp_path


@pytest.mark.parametrize(("rows", "code", "severity", "why"), ROWS)
def test_what_is_allowed_is_a_note(project, capsys, rows, code, severity, why):
    (project / "tfport.toml").write_text(rows)
    assert main(["scan", "m", "--json"]) == code
    (risk,) = json.loads(capsys.readouterr().out)["risks"]
    assert risk["severity"] == severity
    assert why in risk["why"]


@pytest.mark.parametrize(("rows", "sentence"), WRONG)
def test_a_wrong_row_is_one_sentence(project, capsys, rows, sentence):
    (project / "tfport.toml").write_text(rows)
    assert main(["scan", "m"]) == 2
    assert sentence in capsys.readouterr().err
