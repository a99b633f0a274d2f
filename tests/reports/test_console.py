"""Colors on a terminal."""

import pytest

from tfport.reports.console import colored, facts, title
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


def test_facts_wrap_between_items(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    printed = colored([facts([("ops", ["first", "second", "third"]), ("none", [])], 20)], 20)
    assert [line.rstrip() for line in printed.splitlines()] == ["  ops  first,", "       second, third"]


def test_counts_are_plural_from_two_on():
    assert (count(1, "node"), count(1200, "node")) == ("1 node", "1,200 nodes")
