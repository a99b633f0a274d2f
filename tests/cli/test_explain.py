"""`tfport explain`: its inputs, text of 80 columns, JSON, codes and exit codes."""

import ast
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tfport.check.findings.finding import all_findings
from tfport.cli.main import main, parse
from tfport.explain import messages as known

MESSAGE = "Op type not registered 'BatchMatMulV2' in binary running on box."
LOG = str(Path(__file__).parents[1] / "explain/messages/serving.log")


@pytest.fixture
def tfport(capsys):
    """Run a command: exit code, standard output, standard error."""

    def run(*argv):
        code = main(argv)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize("argv", [[MESSAGE], MESSAGE.split()], ids=["one argument", "many"])
def test_a_message_can_be_one_argument_or_many(tfport, argv):
    code, out, err = tfport("explain", *argv)
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "unregistered-op  TFP101"
    assert "since 1.14.0" in out


def test_a_log_is_read_from_a_file_or_from_standard_input(tfport, monkeypatch):
    from_file = tfport("explain", LOG)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(LOG).read_bytes())))
    assert tfport("explain", "-") == from_file
    assert from_file[0] == 0
    assert "unregistered-op  TFP101, 3 times" in from_file[1]


def test_bytes_that_are_not_utf_8_are_accepted(tfport, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00\x1b[31m" + MESSAGE.encode())))
    code, out, _ = tfport("explain", "-")
    assert code == 0
    assert "\x1b" not in out


def test_lines_fit_in_80_columns(tfport):
    _, out, _ = tfport("explain", LOG, "--on", "tensorflow==1.13.2", "--model", "examples/attention")
    assert max(map(len, out.splitlines())) <= 80


def test_json_has_the_same_explanations(tfport):
    code, out, _ = tfport("explain", MESSAGE, "--on", "tensorflow==1.13.2", "--json")
    document = json.loads(out)
    assert (code, document["version"], document["target"]) == (0, 1, "tensorflow==1.13.2")
    (explanation,) = document["explanations"]
    assert (explanation["code"], explanation["names"]) == ("TFP101", {"op": "BatchMatMulV2"})
    assert explanation["on_target"] == [
        "tensorflow 1.13.2 does not register BatchMatMulV2; it has BatchMatMul"
    ]


def test_the_nodes_of_a_model_are_shown(tfport):
    _, out, _ = tfport("explain", MESSAGE, "--model", "examples/attention")
    assert "5 nodes of examples/attention" in out
    assert "MatMul (BatchMatMulV2): run by serving_default" in out


def test_an_unknown_message_is_reported(tfport):
    assert tfport("explain", "all is well") == (1, "\nno known message was recognized\n", "")
    code, out, _ = tfport("explain", "the op type was not registred")
    assert code == 1
    assert "the nearest known message: Op type not registered '{op}'" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["missing.log"], "missing.log: no such file or directory"),
        (["."], ".: is a directory"),
        ([], "expected a message, a code, a file, or - for standard input"),
        (["TFP999"], "unknown code TFP999"),
        (["tfp1000"], "unknown code TFP1000"),
        ([MESSAGE, "--on", "tensorflow>=2.4,<2.6"], "expected one"),
        ([MESSAGE, "--model", "nowhere"], "nowhere"),
    ],
)
def test_an_error_is_one_sentence(tfport, argv, sentence):
    code, out, err = tfport("explain", *argv)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("code", ["TFP101", "tfp302"])
def test_a_code_has_a_page(tfport, code):
    exit_code, out, err = tfport("explain", code)
    assert (exit_code, err) == (0, "")
    assert out.splitlines()[1].startswith(code.upper())
    for part in ("cause", "fix", "example"):
        assert f"\n{part}\n" in out


def test_every_code_is_listed(tfport):
    _, out, _ = tfport("explain", "--list")
    assert [word for word in out.split() if word in all_findings()] == sorted(all_findings())
    listed = json.loads(tfport("explain", "--list", "--json")[1])
    assert [code["code"] for code in listed["codes"]] == sorted(all_findings())


def test_control_characters_in_messages_are_escaped(tfport):
    _, out, _ = tfport("explain", "Key \x1b[2J\x07k not found in checkpoint")
    assert "\x1b" not in out


def quoted_commands(text):
    """The commands of tfport in a text, with a name for each part that differs."""
    return re.findall(r"`tfport ([^`]+)`", text)


def texts_of_code(path):
    """The texts in a Python file, with a name in place of what is filled in."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "NAME" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


COMMANDS_IN_ADVICE = sorted(
    {
        command
        for text in [
            *(t for path in Path(known.__file__).parent.glob("*.py") for t in texts_of_code(path)),
            *(t for message in known.messages() for t in (message.means, *message.ways_out)),
        ]
        for command in quoted_commands(text)
    }
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS_IN_ADVICE)
def test_every_command_in_the_advice_can_be_parsed(command):
    words = shlex.split(command)
    assert words[0] in parse(words).run.__module__.split(".")
