"""Other runtimes in processes of their own: crashes, timeouts, interrupts, several runs."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest
from tests.fix.certify.models import frozen

from tfport.errors import Error
from tfport.fix.certify import other_runner
from tfport.fix.certify import verify as verify_module
from tfport.fix.certify.other_runner import run_to_end
from tfport.fix.certify.tensorflow_runner import TensorFlow, live_tensorflow
from tfport.fix.certify.verification import ALIKE, DIFFERS
from tfport.fix.certify.verify import verify

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
TWICE = X + "two = Const() {dtype=float32, value=float32()[2]}\ny = Mul(x, two) {T=float32}"


def test_a_python_that_is_not_there_is_refused_at_once():
    with pytest.raises(Error, match="not an executable program"):
        verify(frozen(TWICE), frozen(TWICE), targets=[TensorFlow("/no/such/python")])


@pytest.mark.skipif(live_tensorflow() is not None, reason="this Python has TensorFlow")
def test_a_python_without_tensorflow_is_a_failure_of_the_target():
    verification = verify(frozen(TWICE), frozen(TWICE), targets=[TensorFlow(sys.executable)])
    assert verification.verdict == DIFFERS
    assert "No module named 'tensorflow'" in verification.statement


def script(tmp_path, text):
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_process_that_never_ends_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(other_runner, "SECONDS_TO_LOAD", 0.2)
    monkeypatch.setattr(other_runner, "SECONDS_A_TRIAL", 0.0)
    python, started = script(tmp_path, "sleep 600"), []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            if self.args[0] == python:
                started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    verification = verify(frozen(TWICE), frozen(TWICE), targets=[TensorFlow(python)])
    assert "timeout after" in verification.statement
    assert {process.returncode for process in started} == {-signal.SIGKILL}


def test_a_process_does_not_outlive_the_patience_of_the_user(tmp_path):
    noted = tmp_path / "pid"
    runner = TensorFlow(script(tmp_path, f"echo $$ > {noted}; sleep 0.5; kill -USR1 $PPID; sleep 600 & wait"))

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            runner.ask(verify_module.both_sides(frozen(TWICE), frozen(TWICE), None, ["y"]), [])
    finally:
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_an_interrupt_while_a_process_starts_leaves_none(tmp_path, monkeypatch):
    started = []
    make = subprocess.Popen

    def interrupted(*arguments, **named):
        started.append(make(*arguments, **named))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            run_to_end(["sleep", "600"], tmp_path, 600)
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].returncode == -signal.SIGKILL


def test_a_process_that_crashes_says_so(tmp_path):
    verification = verify(
        frozen(TWICE), frozen(TWICE), targets=[TensorFlow(script(tmp_path, "echo oh no >&2; kill -ABRT $$"))]
    )
    assert verification.verdict == DIFFERS
    assert "SIGABRT: oh no" in verification.statement


def test_a_model_that_a_crash_leaves_out_gets_another_process(tmp_path):
    noted = tmp_path / "folders"
    crashing = script(tmp_path, f"shift; echo $# >> {noted}; kill -ABRT $$")
    verify(frozen(TWICE), frozen(TWICE), targets=[TensorFlow(crashing)])
    assert noted.read_text().split() == ["2", "1"]


TWICE_WORKER = """
import os, sys
sys.path.append({workers!r})
from worker_jobs import main

class Twice:
    def __init__(self, job):
        self.fetches = job["trials"][0]["fetches"]
        self.number = number = os.path.getsize({noted!r}) if os.path.exists({noted!r}) else 0
        open({noted!r}, "a").write("+")
        if {crash_at_load}:
            os.abort()
    def run(self, trial, feeds):
        (x,) = feeds.values()
        if {crash}:
            os.abort()
        return [(trial["fetches"][0], x * {factor}, "float32")]
    def close(self):
        pass

main(lambda: (dict(version="1.2.3"), Twice))
"""


def twice(tmp_path, *, crash="False", crash_at_load="False", factor="2", runs=1, after=TWICE):
    """Verify with a real process that computes twice its input, and crashes where it is told to."""
    worker = tmp_path / "worker.py"
    workers, noted = str(other_runner.WORKERS), str(tmp_path / "noted")
    places = {"crash": crash, "crash_at_load": crash_at_load, "factor": factor}
    worker.write_text(TWICE_WORKER.format(workers=workers, noted=noted, **places))
    runner = TensorFlow(sys.executable, runs=runs, is_target=True)
    runner.worker = worker
    return verify(frozen(TWICE), frozen(after), fetches=["y"], live=False, targets=[runner]), runner.facts


def test_a_model_is_run_several_times_each_in_a_new_process(tmp_path):
    verification, facts = twice(tmp_path, runs=3)
    assert verification.verdict == ALIKE
    assert (facts.runs, facts.crashes, facts.version) == (3, 0, "1.2.3")
    assert (tmp_path / "noted").read_text() == "++++"  # the original once
    assert [comparison.runs for comparison in verification.comparisons] == [1, 3]
    assert verification.comparisons[1].answered == verification.comparisons[0].answered


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (
            "(2 + (self.number == 0))",
            ALIKE,
        ),  # only the original is read otherwise, which the rewrite corrects
        ("(2 + (self.number > 0))", DIFFERS),
        ("3", DIFFERS),
        ("2.00001", ALIKE),
    ],
)
def test_what_the_original_means_is_not_what_a_target_makes_of_it(tmp_path, factor, verdict):
    verification, _ = twice(tmp_path, factor=factor)
    assert verification.verdict == verdict


def test_a_crash_in_a_trial_is_its_outcome_and_the_others_are_run(tmp_path):
    verification, facts = twice(tmp_path, crash="(x == 1).all()")
    assert verification.verdict == ALIKE  # the original crashes there too
    comparison = verification.comparisons[1]
    assert (comparison.refused, comparison.answered, facts.crashes) == (1, 13, 1)
    assert any("crashed in 1 of 1 run" in caveat for caveat in verification.caveats)


def test_a_crash_of_the_rewritten_model_alone_is_a_difference(tmp_path):
    verification, facts = twice(tmp_path, crash="self.number == 2 and (x == 1).all()", runs=3)
    assert verification.verdict == DIFFERS
    assert facts.crashes == 1
    assert "refuses `ones" in verification.statement
    assert "killed by SIGABRT" in verification.statement


def test_a_crash_while_loading_is_counted(tmp_path):
    verification, facts = twice(tmp_path, crash_at_load="number % 2", runs=4)
    assert verification.verdict == DIFFERS
    assert facts.crashes == 2
    assert "the process crashed in 2 of 4 runs: killed by SIGABRT" in verification.statement
