import json
from pathlib import Path

import pytest
from tests.recorded_models import path_of

from tfport.cli.main import main
from tfport.env.compare import compare

ROOT = Path(__file__).parents[2]
TRAINING, SERVER = (str(ROOT / "examples/environments" / name) for name in ("training.txt", "server.json"))


def test_text_and_json_equal_those_of_the_api(capsys):
    comparison = compare(TRAINING, SERVER)
    assert main(["env", TRAINING, SERVER]) == 1
    assert capsys.readouterr().out == f"{comparison}\n"
    assert main(["env", TRAINING, SERVER, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == comparison.to_json()


def test_all_does_not_shorten_lists(capsys):
    assert main(["env", TRAINING, SERVER, "--all"]) == 1
    assert "--all shows them" not in capsys.readouterr().out


def test_no_relevant_difference_is_exit_code_0(capsys):
    assert main(["env", "tensorflow==2.16.1", "tensorflow==2.16.2"]) == 0
    assert "no relevant differences" in capsys.readouterr().out


def test_a_model_and_its_loader(capsys):
    options = ["--model", path_of("keras_sequential"), "--loader", "keras", "--device", "cpu", "--json"]
    assert main(["env", "tensorflow==2.15.1", "tensorflow==2.21.0", *options]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [finding["code"] for finding in document["model"]["new"]] == ["TFP051"]


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        ("no/such.txt tensorflow==2.8.4", "no/such.txt: no such file or folder\n"),
        ("tensorflow==2.8.4 tensorflow==9.9", "recorded: 1.0.0 to 2.21.0\n"),
        (
            "tensorflow==2.8.4 tensorflow==2.9.3 --model no/model",
            "no/model: no such file or folder; the current folder has no `no/model`\n",
        ),
    ],
)
def test_an_unreadable_environment_is_one_sentence(words, ending, capsys):
    assert main(["env", *words.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tfport: ")
    assert printed.err.endswith(ending)
