"""Every command: found through the index, imported alone, with help of 80 columns."""

import argparse
import subprocess
import sys

import pytest

from tfport.cli import commands, main
from tfport.cli.commands import COMMANDS, all_commands
from tfport.reports.check.formats import REPORT_FORMATS

NAMES = COMMANDS.names()


def parsers(parser: argparse.ArgumentParser, name: str = "tfport"):
    """A parser and those of its subcommands, by their words."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, subparser in action.choices.items():
                yield from parsers(subparser, f"{name} {word}")


PARSERS = dict(parsers(main.parser()))


@pytest.mark.parametrize("name", PARSERS)
def test_help_fits_in_80_columns_and_describes_every_argument(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, PARSERS[name].format_help().splitlines())) <= 80
    for action in PARSERS[name]._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action


def test_every_command_declared_is_in_the_index():
    assert set(COMMANDS.all()) == set(NAMES)
    assert (
        set(REPORT_FORMATS.all())
        == set(REPORT_FORMATS.names())
        == {"text", "json", "sarif", "junit", "markdown", "html"}
    )


def test_a_new_command_that_is_not_in_the_index_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setitem(COMMANDS.entries, "brand-new", [])
    assert main.main(["brand-new"]) == 2
    assert capsys.readouterr().err == "tfport: the command brand-new is not in the index; run `make index`\n"


def test_the_order_is_that_of_a_user_and_no_place_is_taken_twice():
    assert [command.name for command in all_commands()][:3] == ["inspect", "check", "matrix"]
    assert len({command.order for command in all_commands()}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_imports_no_other(name):
    code = (
        "import contextlib, sys\nfrom tfport.cli.main import parse\n"
        f"with contextlib.suppress(SystemExit): parse([{name!r}, '--help'])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    modules = {declared.add_arguments.__module__ for declared in all_commands()}
    assert modules & set(loaded.split()) == {COMMANDS.of(name)[0].add_arguments.__module__}
    assert not {"numpy", "google.protobuf", "rich", "shtab", "sqlite3"} & set(loaded.split())


def test_python_m_tfport_is_the_command():
    shown = subprocess.run(
        [sys.executable, "-m", "tfport", "--help"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("usage: tfport ")


LIB = [  # after `tfport lib`            the subcommand that is meant
    (["a.so"], "check"),
    (["a.so", "--on", "tensorflow==2.8.4"], "check"),
    (["--json", "a.so"], "check"),
    (["check", "a.so"], "check"),
    (["./new"], "check"),
    (["new", "my_op"], "new"),
    (["build"], "build"),
    (["show", "a.so"], "show"),
]


@pytest.mark.parametrize(("arguments", "subcommand"), LIB)
def test_lib_checks_files_unless_a_subcommand_is_named(arguments, subcommand):
    assert main.parse(["lib", *arguments]).subcommand == subcommand


def test_lib_without_a_file_says_what_is_missing(capsys):
    with pytest.raises(SystemExit):
        main.parse(["lib"])
    assert "tfport lib check: the following arguments are required: FILE" in capsys.readouterr().err


WRONG = [
    (["chek", "x"], "tfport: there is no command `chek` (did you mean check?); see tfport --help"),
    (["quux"], "tfport: there is no command `quux`; see tfport --help"),
    (["check", "--onn", "x"], "unrecognized arguments: --onn (did you mean --on?); see tfport check --help"),
    (["check", "m", "--format", "jsn"], "(did you mean json?); see tfport check --help"),
    (["check", "m", "--quux"], "tfport check: unrecognized arguments: --quux; see tfport check --help"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_a_wrong_command_line_is_one_line_with_what_was_meant(capsys, arguments, sentence):
    with pytest.raises(SystemExit) as raised:
        main.parse(arguments)
    assert raised.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(sentence)


def test_without_a_command_the_help_is_printed(capsys):
    with pytest.raises(SystemExit) as raised:
        main.parse([])
    assert raised.value.code == 0
    assert capsys.readouterr().out.startswith("usage: tfport ")


def test_a_command_is_declared_by_its_arguments():
    parsed = commands.Command("x", 1, (), {"help": "h"}, lambda parser: parser.set_defaults(run=print)).parse(
        []
    )
    assert parsed.run is print
