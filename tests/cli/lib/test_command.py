import json
import zipfile
from pathlib import Path

import pytest

from tfport.cli.main import main

FOLDER = Path(__file__).parents[2] / "libraries"
GOOD = str(FOLDER / "good" / "op.so")
X86 = ["--machine", "x86_64"]


@pytest.fixture
def wheel(tmp_path):
    """A wheel with two op libraries, for different releases, and a library of something else."""
    path = tmp_path / "acme-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(GOOD, "acme/_new_ops.so")
        archive.write(FOLDER / "for_2_16_2" / "op.so", "acme/_old_ops.so")
        archive.write(FOLDER / "needed_by_rpath" / "deps" / "libacme.so.1", "acme.libs/libacme.so.1")
        archive.writestr("acme-1.0.dist-info/METADATA", "Name: acme\nRequires-Dist: tensorflow>=2.16,<2.17\n")
    return str(path)


def said(capsys):
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "code"),
    [("good", 0), ("old_abi", 1), ("lfs_pointer", 1), ("missing", 1), ("op_without_kernel", 0)],
)
def test_the_exit_code_is_the_verdict(case, code, capsys):
    assert main(["lib", str(FOLDER / case / "op.so"), "--on", "tensorflow==2.21.0", *X86]) == code


def test_json_has_what_it_is_and_what_targets_do(capsys):
    assert main(["lib", GOOD, "--on", "tensorflow==2.21.0", "--on", "tensorflow==2.8.4", "--json", *X86]) == 1
    report = json.loads(said(capsys))
    (library,) = report["libraries"]
    assert report["version"] == 1
    assert library["library"]["registers"]["ops"][0]["name"] == "AcmeCopy"
    assert library["library"]["built_with"]["abseil"] == "20250814"
    assert [result["verdict"] for result in library["results"]] == ["loads", "fails"]
    assert library["results"][1]["findings"][0]["code"] == "TFP421"
    assert library["results"][1]["says"].startswith(f"{GOOD}: undefined symbol: _ZN")


def test_without_a_target_there_is_a_strip_of_releases(capsys):
    assert main(["lib", GOOD, *X86]) == 0
    text = said(capsys)
    assert "2.x    x" in text
    assert "since 2.21.0" in text


def test_a_wheel_is_looked_into(wheel, capsys):
    assert main(["lib", wheel, "--on", "tensorflow==2.16.2", *X86]) == 1
    text = said(capsys)
    assert "2 libraries  1 load, 1 do not" in text
    assert "1 other shared library" in text
    assert "tfport" not in text  # nothing of where it was unpacked


def test_what_a_package_declares_is_held_against_the_target(wheel, capsys):
    assert main(["lib", wheel, "--on", "tensorflow==2.17.1", *X86, "--json"]) == 1
    old = json.loads(said(capsys))["libraries"][1]
    assert [f["code"] for f in old["results"][0]["findings"]] == ["TFP428"]
    assert old["library"]["built_with"]["declares"] == "tensorflow<2.17,>=2.16"


def test_a_folder_is_looked_into(tmp_path, capsys):
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "a.so").write_bytes(Path(GOOD).read_bytes())
    (tmp_path / "notes.txt").write_text("none")
    assert main(["lib", str(tmp_path), "--on", "tensorflow==2.21.0", *X86]) == 0
    assert "AcmeCopy (CPU)" in said(capsys)


def test_a_folder_without_op_libraries_is_an_error(tmp_path, capsys):
    assert main(["lib", str(tmp_path)]) == 2
    assert "no op library found; no shared library" in capsys.readouterr().err


def test_a_bare_name_is_warned_of(monkeypatch, capsys):
    monkeypatch.chdir(FOLDER / "good")
    assert main(["lib", "op.so", "--on", "tensorflow==2.21.0", *X86]) == 0
    assert "TFP407" in said(capsys)


def test_the_environment_that_runs_this_is_a_target(capsys):
    assert main(["lib", GOOD, "--on", "nothing-of-that-name==1", *X86]) == 2
