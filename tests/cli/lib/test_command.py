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


def printed(capsys):
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "code"),
    [("good", 0), ("old_abi", 1), ("lfs_pointer", 1), ("missing", 1), ("op_without_kernel", 0)],
)
def test_the_exit_code_is_the_verdict(case, code, capsys):
    assert main(["lib", str(FOLDER / case / "op.so"), "--on", "tensorflow==2.21.0", *X86]) == code


def test_json_has_the_library_and_its_results(capsys):
    assert main(["lib", GOOD, "--on", "tensorflow==2.21.0", "--on", "tensorflow==2.8.4", "--json", *X86]) == 1
    report = json.loads(printed(capsys))
    (library,) = report["libraries"]
    assert report["version"] == 1
    assert library["library"]["registers"]["ops"][0]["name"] == "AcmeCopy"
    assert library["library"]["built_with"]["abseil"] == "20250814"
    assert [result["verdict"] for result in library["results"]] == ["loads", "fails"]
    assert library["results"][1]["findings"][0]["code"] == "TFP421"
    assert library["results"][1]["says"].startswith(f"{GOOD}: undefined symbol: _ZN")


def test_without_a_target_every_release_is_checked(capsys):
    assert main(["lib", GOOD, *X86]) == 0
    text = printed(capsys)
    assert "2.x    x" in text
    assert "since 2.21.0" in text


def test_the_libraries_of_a_wheel_are_checked(wheel, capsys):
    assert main(["lib", wheel, "--on", "tensorflow==2.16.2", *X86]) == 1
    text = printed(capsys)
    assert "2 libraries  1 load, 1 fail" in text
    assert "1 other shared library" in text
    assert "tfport" not in text  # nothing of where it was unpacked


def test_requirements_of_a_package_are_compared_with_the_target(wheel, capsys):
    assert main(["lib", wheel, "--on", "tensorflow==2.17.1", *X86, "--json"]) == 1
    old = json.loads(printed(capsys))["libraries"][1]
    assert [f["code"] for f in old["results"][0]["findings"]] == ["TFP428"]
    assert old["library"]["built_with"]["declares"] == "tensorflow<2.17,>=2.16"


def test_the_libraries_of_a_folder_are_checked(tmp_path, capsys):
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "a.so").write_bytes(Path(GOOD).read_bytes())
    (tmp_path / "notes.txt").write_text("none")
    assert main(["lib", str(tmp_path), "--on", "tensorflow==2.21.0", *X86]) == 0
    assert "AcmeCopy (CPU)" in printed(capsys)


def test_a_folder_without_op_libraries_is_an_error(tmp_path, capsys):
    assert main(["lib", str(tmp_path)]) == 2
    assert "no op library found; no shared library" in capsys.readouterr().err


def test_a_path_without_a_slash_is_a_warning(monkeypatch, capsys):
    monkeypatch.chdir(FOLDER / "good")
    assert main(["lib", "op.so", "--on", "tensorflow==2.21.0", *X86]) == 0
    assert "TFP407" in printed(capsys)


def test_an_unknown_target_is_an_error(capsys):
    assert main(["lib", GOOD, "--on", "nothing-of-that-name==1", *X86]) == 2
