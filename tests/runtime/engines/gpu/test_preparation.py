import threading

import pytest

from tfport.runtime.engines.gpu.preparation import Preparations


@pytest.fixture
def preparations():
    made = Preparations()
    yield made
    made.wait()


def test_work_is_done_in_order_in_one_other_thread(preparations):
    done = []
    for number in range(20):
        preparations.begin(lambda number=number: done.append((number, threading.current_thread())))
    preparations.wait()
    assert [number for number, _ in done] == list(range(20))
    assert threading.current_thread() not in {thread for _, thread in done}


def test_its_thread_outlives_what_it_did(preparations):
    """Kernels of its graphs are unloaded when it ends."""
    threads = []
    for _ in range(2):
        preparations.begin(lambda: threads.append(threading.current_thread()))
        preparations.wait()
    assert threads[0] is threads[1]
    assert threads[0].is_alive()


def test_what_fails_does_not_end_the_rest(preparations):
    done = []
    preparations.begin(lambda: 1 / 0)
    preparations.begin(lambda: done.append(1))
    preparations.wait()
    assert done == [1]


def test_work_may_begin_other_work(preparations):
    done = []
    preparations.begin(lambda: preparations.begin(lambda: done.append(1)))
    preparations.wait()
    assert done == [1]


def test_nothing_is_begun_when_the_process_ends(preparations, monkeypatch):
    monkeypatch.setattr(threading, "main_thread", threading.Thread)
    preparations.begin(lambda: pytest.fail("begun"))
    preparations.wait()
    assert threading.active_count() < 100


def test_nothing_to_wait_for(preparations):
    preparations.wait()
