"""Runs that are stopped: by a signal of another thread, in every kind of loop."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.hostile_models import ENDLESS, laughs
from tests.runtime.programs import session_of

from tfport.errors import RunCancelled, RunStopped
from tfport.runtime.bounds.stop_signal import StopSignal

X = np.float32([1])
GONE = "the client is gone"
NEGATED = "x = Placeholder() {dtype=float32, shape=(?)}\ny = Neg(x) {T=float32}"


def stop_soon(signal: StopSignal) -> threading.Timer:
    timer = threading.Timer(0.1, signal.stop, [RunCancelled(GONE)])
    timer.start()
    return timer


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize("form", ENDLESS)
def test_an_endless_loop_ends_when_another_thread_says_so(form, engine):
    session, signal = session_of(ENDLESS[form], engine=engine), StopSignal()
    before = threading.active_count()
    timer = stop_soon(signal)
    with pytest.raises(RunCancelled, match=GONE):
        session.run("y:0", {"x:0": X}, stop=signal)
    timer.join()
    assert threading.active_count() == before


def test_the_session_runs_on_after_a_run_was_stopped():
    session, signal = session_of(ENDLESS["While, island"]), StopSignal()
    stop_soon(signal)
    with pytest.raises(RunStopped):
        session.run("y:0", {"x:0": X}, stop=signal)
    assert session.run("w:0", {"w:0": np.int32(3)}) == 3


def test_a_signal_that_is_set_already_stops_a_run_before_its_first_step():
    signal = StopSignal()
    signal.stop(RunCancelled(GONE))
    with pytest.raises(RunCancelled, match=GONE):
        session_of(NEGATED).run("y:0", {"x:0": X}, stop=signal)


def test_the_first_reason_counts():
    signal = StopSignal()
    signal.stop(RunCancelled("first"))
    signal.stop(RunCancelled("second"))
    with pytest.raises(RunCancelled, match="first"):
        signal.check()


def test_a_signal_stops_all_runs_that_watch_it():
    signal, errors = StopSignal(), []
    session = session_of(ENDLESS["While, island"])

    def run():
        try:
            session.run("y:0", {"x:0": X}, stop=signal)
        except RunStopped as error:
            errors.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    stop_soon(signal).join()
    for thread in threads:
        thread.join()
    assert errors == [GONE] * 3


def test_a_handle_that_is_registered_late_is_stopped_as_well():
    signal = StopSignal()
    signal.stop(RunCancelled(GONE))
    with pytest.raises(RunCancelled):
        signal.handle("engine", lambda: ("options", lambda: None))


ENDLESS_DATASET = """
    zero = Const() {dtype=int64, value=int64()[0]}
    most = Const() {dtype=int64, value=int64()[9223372036854775807]}
    one = Const() {dtype=int64, value=int64()[1]}
    forever = Const() {dtype=int64, value=int64()[-1]}
    few = RangeDataset(zero, one, one) {output_types=[int64], output_shapes=[()]}
    again = RepeatDataset(few, forever) {output_types=[int64], output_shapes=[()]}
    late = SkipDataset(again, most) {output_types=[int64], output_shapes=[()]}
    y = DatasetToSingleElement(late) {output_types=[int64], output_shapes=[()]}
"""


def test_an_endless_dataset_ends():
    session, signal = session_of(ENDLESS_DATASET), StopSignal()
    stop_soon(signal)
    with pytest.raises(RunCancelled, match=GONE):
        session.run("y:0", stop=signal)


def test_planning_ends():
    session, signal = session_of(laughs()), StopSignal()
    stop_soon(signal)
    with pytest.raises(RunCancelled, match=GONE):
        session.run("y:0", {"x:0": X}, stop=signal)


LOCKED = """
    m = MutexV2() {container="", shared_name="m"}
    lock = MutexLock(m)
    done = ConsumeMutexLock(lock)
"""


def test_waiting_for_a_lock_ends():
    session, signal = session_of(LOCKED), StopSignal()
    kept = session.run("lock:0")
    stop_soon(signal)
    with pytest.raises(RunCancelled, match=GONE):
        session.run("done", stop=signal)
    kept.release()
    session.run("done")
