"""Deadlines of runs, which one thread watches for all."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.hostile_models import ENDLESS
from tests.runtime.programs import session_of

from tfport.errors import DeadlineExceeded, RunCancelled
from tfport.runtime.bounds.run_scope import bounded
from tfport.runtime.bounds.stop_signal import _WATCH, StopSignal, deadline

X = np.float32([1])
SOON, LATER = 0.05, 1000


@pytest.mark.parametrize("form", ["While, island", "While, host"])
def test_a_run_ends_after_its_timeout(form):
    with pytest.raises(DeadlineExceeded, match=r"the run was stopped after 0\.05 seconds"):
        session_of(ENDLESS[form]).run("y:0", {"x:0": X}, timeout=SOON)


def test_a_timeout_leaves_the_signal_of_the_caller_alone():
    signal = StopSignal()
    with pytest.raises(DeadlineExceeded):
        session_of(ENDLESS["While, host"]).run("y:0", {"x:0": X}, timeout=SOON, stop=signal)
    assert signal.reason is None


def test_the_signal_of_the_caller_counts_before_a_timeout():
    signal = StopSignal()
    threading.Timer(SOON, signal.stop, [RunCancelled("enough")]).start()
    with pytest.raises(RunCancelled, match="enough"):
        session_of(ENDLESS["While, host"]).run("y:0", {"x:0": X}, timeout=LATER, stop=signal)


def test_deadlines_are_forgotten_and_share_one_thread():
    with deadline(None, LATER), deadline(None, LATER):
        assert len(_WATCH._next) == 2
        watchers = [thread for thread in threading.enumerate() if thread.name == "tfport-deadlines"]
        assert len(watchers) == 1
    assert not _WATCH._next


def test_the_first_of_several_deadlines_is_the_first_to_pass():
    with deadline(None, LATER) as late, bounded(timeout=SOON):
        with pytest.raises(DeadlineExceeded):
            session_of(ENDLESS["While, host"]).run("y:0", {"x:0": X})
        assert late.reason is None
