"""The criterion of the soak test: levels that rise are found, swings are not; how busy others are."""

import importlib.util
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "tools" / "soak" / "usage.py"
SPEC = importlib.util.spec_from_file_location("soak_usage", FILE)
usage = sys.modules["soak_usage"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(usage)
FIRST = usage.Sample(0.0, 100.0, 30, 200, 2, 0.0, 0.0, 0.0)


def watched(memory, seconds: int = 1800) -> usage.Usage:
    run = usage.Usage()
    run.samples = [replace(FIRST, time=float(second), memory=memory(second)) for second in range(seconds)]
    return run


@pytest.mark.parametrize(
    ("memory", "rises"),
    [
        (lambda second: 80 + 60 * random.random(), False),  # large requests of the moment
        (lambda second: 60 + 40 * (second % 10) / 10, False),  # what grows between two checks
        (lambda second: min(60 + second, 140), False),  # warms up
        (lambda second: 80 + 60 * random.random() + second / 60, True),  # a megabyte a minute
        (
            lambda second: 80 + 60 * (second % 10 < (2 if second < 900 else 7)),
            False,
        ),  # others use the machine
        (lambda second: 100 if second < 1200 else 130, True),
    ],
)
def test_a_level_that_rises_is_found_among_swings(memory, rises):
    random.seed(1)
    assert bool(watched(memory).rises()) is rises


@pytest.mark.parametrize(("what", "few"), [("threads", 8), ("files", 20)])
def test_a_few_more_are_no_leak_but_one_in_twenty_seconds_is(what, few):
    run = usage.Usage()
    for rate, rises in ((few / 1800, False), (1 / 20, True)):
        run.samples = [
            replace(FIRST, time=float(second), **{what: 30 + int(rate * second)}) for second in range(1800)
        ]
        assert bool(run.rises()) is rises


def test_what_other_programs_use_is_what_is_left_of_the_work():
    run, count = usage.Usage(), os.cpu_count()
    run.samples = [
        replace(FIRST, time=t, processors=0.9 * t * count, own=0.5 * t * count) for t in (0.0, 1.0, 2.0, 3.0)
    ]
    assert run.others(1.2, 1.8) == pytest.approx(0.4)
    assert run.others(0, 3) == pytest.approx(0.4)
    assert run.others(7, 9) == pytest.approx(0.4)  # after the last sample


def test_a_process_is_measured():
    run = usage.Usage()
    run.add(os.getpid())
    (sample,) = run.samples
    assert sample.memory > 1
    assert sample.threads >= 1
    assert sample.files > 2
    assert 0 < sample.own <= sample.processors
