import threading
import time

import pytest

from tfport.runtime.engines.gpu.capture_lock import CaptureLock


def in_thread(enter, log):
    """A thread that writes when it is inside."""
    started = threading.Event()

    def work():
        started.set()
        with enter():
            log.append("thread")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait()
    return thread


@pytest.mark.parametrize(
    ("outer", "inner"), [("capturing", "running"), ("capturing", "capturing"), ("running", "capturing")]
)
def test_a_capture_is_alone(outer, inner):
    lock, log = CaptureLock(), []
    with getattr(lock, outer)():
        thread = in_thread(getattr(lock, inner), log)
        thread.join(0.02)
        assert thread.is_alive()
        log.append("main")
    thread.join()
    assert log == ["main", "thread"]


def test_any_number_of_threads_may_run():
    lock, log = CaptureLock(), []
    with lock.running():
        in_thread(lock.running, log).join()
    assert log == ["thread"]


@pytest.mark.parametrize("outer", ["running", "capturing"])
def test_what_runs_may_run_something_while_a_capture_waits(outer):
    lock, log = CaptureLock(), []
    with getattr(lock, outer)():
        thread = in_thread(lock.capturing, log)
        thread.join(0.02)
        with lock.running():
            log.append("inside")
    thread.join()
    assert log == ["inside", "thread"]


def test_a_thread_that_runs_may_capture_and_is_alone_meanwhile():
    lock, log, began = CaptureLock(), [], threading.Event()

    def runs_for_a_while():
        with lock.running():
            began.set()
            time.sleep(0.02)
            log.append("before")

    with lock.running():
        threading.Thread(target=runs_for_a_while, daemon=True).start()
        began.wait()
        with lock.capturing():
            log.append("capture")
            thread = in_thread(lock.running, log)
            thread.join(0.02)
            assert thread.is_alive()
        thread.join()
        capture = in_thread(lock.capturing, log)
        capture.join(0.02)
        assert capture.is_alive()
        log.append("still running")
    capture.join()
    assert log == ["before", "capture", "thread", "still running", "thread"]


def test_an_error_leaves_the_lock():
    lock = CaptureLock()
    for enter in (lock.running, lock.capturing):
        with pytest.raises(ValueError, match="x"), enter():
            raise ValueError("x")
    with lock.capturing():
        pass
