"""Work in the spare thread: its result, its error, its context, and what happens while it is busy."""

import contextvars
import os
import threading

import pytest

from tfport.runtime.engines.spare_thread import SpareThread, beside

NAME = contextvars.ContextVar("NAME", default="none")


def thread():
    return threading.current_thread().name


def test_work_is_done_in_another_thread_with_the_same_context():
    token = NAME.set("a run")
    try:
        wait = beside(lambda: (thread(), NAME.get()))
    finally:
        NAME.reset(token)
    assert wait() == ("tfport-spare", "a run")


def test_an_error_is_raised_where_the_result_is_wanted():
    def fail():
        raise ValueError("too large")

    wait = beside(fail)
    with pytest.raises(ValueError, match="too large"):
        wait()
    assert beside(thread)() == "tfport-spare"


def test_while_it_is_busy_who_asks_does_the_work():
    spare, may_end = SpareThread(), threading.Event()
    first = spare.begin(may_end.wait)
    assert first is not None
    assert spare.begin(thread) is None
    may_end.set()
    assert first() is True
    second = spare.begin(thread)
    assert second is not None
    assert second() == "tfport-spare"


def test_a_child_process_has_a_spare_thread_of_its_own():
    assert beside(thread)() == "tfport-spare"
    child = os.fork()
    if not child:
        os._exit(0 if beside(thread)() == "tfport-spare" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
