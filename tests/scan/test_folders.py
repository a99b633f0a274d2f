"""What `scan` says about folders: several models, files beside them, links, and what is left out."""

import json
import os
import zipfile

import pytest
from tests.formats.keras.samples import keras
from tests.scan.hostile_files import LAMBDA, SYSTEM, model_of, saved_model_with, zipped

import tfport
from tfport.cli.main import main
from tfport.cli.many_models import PARALLEL_FROM

CUT = keras()[: len(keras()) // 2]


def notes(path) -> list[str]:
    return [risk.message for risk in tfport.scan(path).risks if risk.severity == "note"]


def scanned(capsys, *args) -> tuple[int, dict[str, dict]]:
    code = main(["scan", "--json", *map(str, args)])
    return code, {model["model"]: model for model in json.loads(capsys.readouterr().out)["models"]}


@pytest.fixture
def models(tmp_path):
    """A folder with two models."""
    for name in ("a.keras", "b.keras"):
        (tmp_path / name).write_bytes(keras())
    return tmp_path


def test_a_folder_of_harmless_models_is_the_models_alone(models, capsys):
    code, reports = scanned(capsys, models)
    assert code == 0
    assert sorted(reports) == [f"{models}/a.keras", f"{models}/b.keras"]


@pytest.mark.parametrize(
    ("name", "data", "code", "exit_code"),
    [
        ("weights.pkl", SYSTEM, "TFP921", 1),
        ("ops.so", b"\x7fELF", "TFP920", 0),
        ("other.zip", zipped([("../x", b"x")]), "TFP925", 1),
        (".hidden/c.keras", keras(model_of(LAMBDA)), "TFP911", 1),
        (".hidden/d.zip", zipped([("c.keras", keras(model_of(LAMBDA)))]), "TFP911", 1),
        (".git/objects/x", b"", "TFP929", 0),
        ("train.py", b"print()", "TFP922", 0),
    ],
)
def test_files_beside_several_models_are_looked_at(models, capsys, name, data, code, exit_code):
    (models / name).parent.mkdir(parents=True, exist_ok=True)
    (models / name).write_bytes(data)
    exited, reports = scanned(capsys, models)
    assert exited == exit_code
    assert reports[str(models)]["format"] == "files beside models"
    assert code in [risk["code"] for risk in reports[str(models)]["risks"]]


def test_a_model_of_another_format_beside_models(models, capsys):
    """Single files may be of any format, also damaged; an architecture is a file beside models."""
    (models / "m.json").write_text(json.dumps(model_of(LAMBDA)))
    (models / "c.keras").write_bytes(CUT)
    code, reports = scanned(capsys, models)
    assert code == 1
    about = {risk["code"]: risk["message"] for risk in reports[str(models)]["risks"]}
    assert sorted(about) == ["TFP911"]
    assert "m.json" in about["TFP911"]
    assert "cut short" in reports[str(models / "c.keras")]["error"]


def test_many_models_are_scanned_in_processes(models, capsys):
    for number in range(PARALLEL_FROM):
        (models / f"{number:02}.keras").write_bytes(keras(model_of(LAMBDA)) if number == 7 else keras())
    code, reports = scanned(capsys, models)
    assert code == 1
    assert [os.path.basename(name) for name, report in reports.items() if report["risks"]] == ["07.keras"]
    assert len(reports) == PARALLEL_FROM + 2


def test_text_of_many_models(models, capsys):
    (models / "c").mkdir()
    (models / "c" / "saved_model.pb").write_bytes(b"\x0a\xff")
    (models / "d.keras").write_bytes(keras(model_of(LAMBDA)))
    assert main(["scan", str(models)]) == 1
    text = capsys.readouterr().out
    assert f"{models}/a.kerasnothingfound" in "".join(text.split())  # long paths are wrapped
    assert text.endswith("\n4 scanned: 1 with findings, 1 cannot be read\n")


def test_scripts_beside_a_model_are_one_note(tmp_path):
    path = saved_model_with("a.py", b"print()")(tmp_path)
    for name in ("b.py", "c.sh"):
        (path / name).write_text("print()")
    (note,) = notes(path)
    assert note.endswith("a.py` is a script, as are 2 more next to it")


def test_folders_that_are_left_out_are_named(tmp_path):
    path = saved_model_with(".git/config", b"")(tmp_path)
    (path / "assets" / "__pycache__").mkdir(parents=True)
    (note,) = notes(path)
    assert note == (
        f"`{path}/.git` was not scanned: version control and caches are left out, and 1 more folder"
    )


def test_links_to_folders(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.pkl").write_bytes(SYSTEM)
    path = saved_model_with("assets/vocabulary.txt", b"a")(tmp_path)
    (path / "inside").symlink_to("assets")
    assert notes(path) == []  # what it leads to is looked at
    (path / "variables.old").symlink_to(outside)
    (not_scanned,) = [note for note in notes(path) if "was not scanned" in note]
    assert not_scanned.endswith("a link to a folder elsewhere; scan that folder too")


def test_a_link_into_a_folder_that_is_left_out(tmp_path):
    path = saved_model_with(".git/hooks/run.sh", b"#!/bin/sh")(tmp_path)
    (path / "assets.extra").symlink_to(".git/hooks")
    assert any("assets.extra` was not scanned: a link" in note for note in notes(path))


def test_a_folder_that_cannot_be_read(tmp_path, monkeypatch):
    path = saved_model_with("assets/x", b"")(tmp_path)
    walk = os.walk

    def refused(top, onerror):
        onerror(PermissionError(13, "Permission denied", f"{top}/assets"))
        return walk(top)

    monkeypatch.setattr(os, "walk", refused)
    (risk,) = tfport.scan(path).risks
    assert risk.severity == "warning"
    assert risk.message == f"`{path}/assets` was not scanned: permission denied"


def test_models_in_an_archive_that_cannot_be_read_are_named(tmp_path):
    path = tmp_path / "models.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.keras", keras())
        archive.writestr("b/b.keras", CUT)
        archive.writestr("x.pkl", SYSTEM)
    report = tfport.scan(path)
    assert any(
        risk.code == "TFP929" and "b/b.keras` was not scanned" in risk.message for risk in report.risks
    )
