"""Op libraries in two environments."""

import json
from pathlib import Path

import pytest
from tests.atlas.system_images import image

from tfport.cli.main import main
from tfport.env.compare import compare
from tfport.errors import Error

FOLDER = Path(__file__).parents[1] / "libraries"


def library(case: str) -> str:
    return str(FOLDER / case / "op.so")


def test_a_library_built_for_another_release_breaks():
    comparison = compare("tensorflow==2.20.0", "tensorflow==2.21.0", libraries=[library("for_2_20_0")])
    (verdicts,) = comparison.libraries
    assert (verdicts.build.verdict, verdicts.runtime.verdict) == ("loads", "fails")
    assert (comparison.verdict, comparison.exit_code) == ("breaks", 1)
    text = " ".join(str(comparison).split())
    assert "does not load in the second environment" in text
    assert verdicts.findings
    assert all(
        f"error[{finding.code}]" in text for finding in verdicts.findings if finding.severity == "error"
    )


def test_guesses_about_libraries_are_replaced_by_verdicts():
    assert "symbols-lost" in {d.name for d in compare("tensorflow==2.20.0", "tensorflow==2.21.0").differences}
    comparison = compare("tensorflow==2.20.0", "tensorflow==2.21.0", libraries=[library("good")])
    assert {difference.concerns for difference in comparison.differences} & {"libraries"} == set()
    assert (comparison.libraries[0].runtime.verdict, comparison.exit_code) == ("loads", 0)


def test_several_libraries_are_each_judged():
    names = [library("for_2_20_0"), library("good")]
    comparison = compare("tensorflow==2.20.0", "tensorflow==2.21.0", libraries=names)
    verdicts = [(each.build.verdict, each.runtime.verdict) for each in comparison.libraries]
    assert verdicts == [("loads", "fails"), ("fails", "loads")]
    assert [each.breaks for each in comparison.libraries] == [True, False]


def test_a_library_that_loads_nowhere_is_named():
    comparison = compare("tensorflow==2.8.4", "tensorflow==2.9.3", libraries=[library("for_2_20_0")])
    assert "does not load in either environment" in " ".join(str(comparison).split())
    assert comparison.exit_code == 1


def test_the_system_of_an_image_counts(tmp_path):
    stub = image(tmp_path / "stub", packages=("tensorflow-2.21.0",), python="3.11")
    with pytest.raises(Error, match=r"stub: has no libc.so.6 for x86_64"):
        compare("tensorflow==2.21.0", str(stub), libraries=[library("good")])


def test_a_library_needs_two_known_environments(tmp_path):
    (tmp_path / "requirements.txt").write_text("tf-nightly\n")
    with pytest.raises(Error, match="nightly"):
        compare("tensorflow==2.8.4", str(tmp_path / "requirements.txt"), libraries=[library("good")])


def test_the_command_takes_libraries(capsys):
    sides = ["tensorflow==2.20.0", "tensorflow==2.21.0"]
    assert main(["env", *sides, "--library", library("for_2_20_0"), "--json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)["libraries"]
    assert (record["build"], record["runtime"], record["breaks"]) == ("loads", "fails", True)
    assert {"code", "message"} <= set(record["findings"][0])


def test_a_missing_library_is_one_sentence(tmp_path, capsys):
    missing = str(tmp_path / "none.so")
    assert main(["env", "tensorflow==2.8.4", "tensorflow==2.8.4", "--library", missing]) == 2
    error = capsys.readouterr().err
    assert f"{missing}: no such file or folder; expected a custom-op library" in error
