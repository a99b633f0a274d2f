import json
import os
import shutil
from pathlib import Path

import pytest

from tfport.cli.main import main

ROOT = Path(__file__).parents[3]
DECLARED = """
[[check]]
model = "models/attention"
on = ["tensorflow==1.14.0", "tensorflow==1.15.5"]
loader = "serving"

[[check]]
model = ["models/attention"]
on = "tensorflow==1.13.2"
device = "cpu"
signatures = ["serving_default"]
soft-placement = true
tags = ["serve"]
fail-on = "never"
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    shutil.copytree(ROOT / "examples" / "attention", tmp_path / "models" / "attention")
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    return tmp_path


def in_pyproject(text: str) -> str:
    return "[project]\nname = 'x'\n" + text.replace("[[check]]", "[[tool.tfport.check]]")


@pytest.mark.parametrize(
    ("file", "text"), [("tfport.toml", DECLARED), ("pyproject.toml", in_pyproject(DECLARED))]
)
def test_check_without_arguments_checks_the_declared_models(file, text, repository, capsys):
    (repository / file).write_text(text)
    assert main(["check", "--json", "-o", "out.json"]) == 0
    assert capsys.readouterr().err == ""
    first, second = json.loads((repository / "deep" / "down" / "out.json").read_text())["models"]
    assert first["model"] == second["model"] == "models/attention"
    assert [result["target"] for result in first["results"]] == ["tensorflow==1.14.0", "tensorflow==1.15.5"]
    assert [result["loaders"] for result in first["results"]] == [["serving"], ["serving"]]
    assert second["verdict"] == "fails"


def test_the_command_line_takes_precedence(repository, capsys):
    (repository / "tfport.toml").write_text(DECLARED)
    assert main(["check", "--fail-on", "error", "--loader", "capi", "--json"]) == 1
    models = json.loads(capsys.readouterr().out)["models"]
    assert {loader for model in models for result in model["results"] for loader in result["loaders"]} == {
        "capi"
    }


def test_paths_are_relative_to_the_folder_of_the_configuration(repository, capsys):
    (repository / "requirements.txt").write_text("tensorflow==1.14.0\n")
    (repository / "tfport.toml").write_text('[[check]]\nmodel = "models"\non = "requirements.txt"\n')
    before = os.getcwd()
    assert main(["check"]) == 0
    assert "models/attention  runs on tensorflow 1.14.0" in capsys.readouterr().out
    assert os.getcwd() == before


def test_the_search_ends_at_the_root_of_the_repository(repository, capsys):
    (repository / "tfport.toml").write_text(DECLARED)
    (repository / "deep" / ".git").touch()  # as in a worktree
    assert main(["check"]) == 2
    assert "no tfport.toml in this folder or above it" in capsys.readouterr().err


def test_a_pyproject_without_tfport_is_ignored(repository, capsys):
    (repository / "deep" / "pyproject.toml").write_text("[tool.ruff]\nline-length = 110\n")
    (repository / "tfport.toml").write_text(DECLARED)
    assert main(["check"]) == 0


HEAD = '[[check]]\nmodel = "m"\non = "tensorflow==2.8"\n'
WRONG = [  # what is declared           the sentence after the name of the file
    ("[[check]", "not a TOML file: "),
    ("\udcff", "not a TOML file: "),
    ("", "no [[check]] table; add one with `model` and `on`"),
    ("[check]\nmodel = 'm'", "`check` is a table; expected tables with the header [[check]]"),
    ("check = [1]", "`check` is a list; expected tables with the header [[check]]"),
    ("checks = 1", "unknown key `checks`; expected [[check]] or [[scan.allow]]"),
    ("[[check]]\nmodel = 'm'", "check 1: `on` is missing"),
    ("[[check]]\non = []", "check 1: `model` is missing"),
    (f"{HEAD}{HEAD}devices = 'cpu'", "check 2: unknown key `devices`; expected model, on, loader, "),
    (f"{HEAD}device = 'tpu'", 'check 1: `device` is "tpu"; expected cpu or gpu'),
    (f"{HEAD}device = ['cpu']", "check 1: `device` is a list; expected a string"),
    (f"{HEAD}loader = ['java']", 'check 1: `loader` is "java"; expected capi, serving, python or keras'),
    (
        f"{HEAD}signatures = [1]",
        "check 1: `signatures` contains a number; expected a string or a list of",
    ),
    (f"{HEAD}tags = 2020-01-01", "check 1: `tags` contains a date; expected a string or a list of strings"),
    (f"{HEAD}soft-placement = 'yes'", "check 1: `soft-placement` is a string; expected true or false"),
    (f"{HEAD}fail-on = 'always'", 'check 1: `fail-on` is "always"; expected error, unknown, '),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_an_invalid_configuration_is_one_sentence_with_file_and_key(text, sentence, repository, capsys):
    (repository / "tfport.toml").write_text(text, errors="surrogateescape")
    assert main(["check"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"tfport: ../../tfport.toml: {sentence}")
    assert error.count("\n") == 1


def test_a_value_of_another_type_in_pyproject_is_an_error(repository, capsys):
    (repository / "pyproject.toml").write_text("[tool]\ntfport = 1\n")
    assert main(["check"]) == 2
    assert (
        "../../pyproject.toml: `tool.tfport` is a number; expected [[tool.tfport.check]]"
        in capsys.readouterr().err
    )
