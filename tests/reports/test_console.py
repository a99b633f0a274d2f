"""Colors on a terminal."""

import pytest

from tfport.reports.console import colored, facts, show, title
from tfport.words import count

STYLED = "\n\x1b[1mmodel\x1b[0m  note\n"
PLAIN = "\nmodel  note\n"
ENVIRONMENTS = [
    ({"TERM": "xterm"}, STYLED),
    ({"TERM": "dumb"}, PLAIN),
    ({"TERM": "xterm", "NO_COLOR": "1"}, PLAIN),
    ({"TERM": "xterm", "NO_COLOR": ""}, STYLED),
]


@pytest.mark.parametrize(("environment", "expected"), ENVIRONMENTS)
def test_a_terminal_gets_the_styles_that_it_has(environment, expected, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert colored([title("model", "note")], 40) == expected


OUTPUTS = [  # is it a terminal?  FORCE_COLOR  NO_COLOR
    (True, None, None, STYLED),
    (False, None, None, PLAIN),
    (False, "1", None, STYLED),
    (True, "", None, PLAIN),
    (False, "1", "1", PLAIN),
]


@pytest.mark.parametrize(("is_terminal", "forced", "refused", "expected"), OUTPUTS)
def test_colors_can_be_forced_and_refused(is_terminal, forced, refused, expected, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in (("FORCE_COLOR", forced), ("NO_COLOR", refused)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    show(lambda width: [title("model", "note")])
    assert capsys.readouterr().out == expected


def test_facts_wrap_between_items(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    printed = colored([facts([("ops", ["first", "second", "third"]), ("none", [])], 20)], 20)
    assert [line.rstrip() for line in printed.splitlines()] == ["  ops  first,", "       second, third"]


def test_counts_are_plural_from_two_on():
    assert (count(1, "node"), count(1200, "node")) == ("1 node", "1,200 nodes")
