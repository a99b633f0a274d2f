"""Which versions are selected, and the next step."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tfport.serve.models.policy import (
    AllVersions,
    LatestVersions,
    LoadStage,
    PolicyStep,
    SpecificVersions,
    next_step,
    select_versions,
)

FOUND = {1: "a", 5: "b", 12: "c"}
WANTED = [  # policy, numbers
    (LatestVersions(), {12}),
    (LatestVersions(2), {5, 12}),
    (LatestVersions(9), {1, 5, 12}),
    (LatestVersions(0), {12}),
    (AllVersions(), {1, 5, 12}),
    (SpecificVersions(frozenset({5, 7})), {5}),
    (SpecificVersions(frozenset()), set()),
]


@pytest.mark.parametrize(("policy", "numbers"), WANTED)
def test_wanted(policy, numbers):
    assert select_versions(policy, FOUND) == {number: FOUND[number] for number in numbers}


def test_of_nothing_nothing_is_wanted():
    assert select_versions(LatestVersions(), {}) == {}


@dataclass
class One:
    number: int
    aspired: bool
    stage: LoadStage


def versions(text: str) -> list[One]:
    """`+2new -1ready`: aspired or not, number, stage."""
    steps = []
    for word in text.split():
        digits = "".join(c for c in word if c.isdigit())
        steps.append(One(int(digits), word[0] == "+", LoadStage(word[1 + len(digits) :])))
    return steps


STEPS = [  # versions, steps
    ("", None),
    ("+1new", "load 1"),
    ("+1new +2new", "load 2"),
    ("+2loading +1new", "load 1"),
    ("+1ready", None),
    ("-1ready +2new", "load 2"),
    ("-1ready +2loading", None),
    ("-1ready +2failed", None),
    ("-1ready +2ready", "unload 1"),
    ("-1ready -2ready +3loading", "unload 1"),
    ("-1ready -2ready", "unload 1"),
    ("-2ready", "unload 2"),
    ("-1ready -2ready +3ready +4new", "unload 1"),
    ("-1unloading -2ready +3new", "load 3"),
    ("-1loading", None),
    ("-5ready +2ready", "unload 5"),
]


@pytest.mark.parametrize(("start", "expected"), STEPS)
def test_steps(start, expected):
    step = next_step(versions(start))
    assert (f"{step[0].value} {step[1].number}" if step else None) == expected
    assert step is None or isinstance(step[0], PolicyStep)
