"""Threads for calls: each servable has its share, and those that wait take turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import numpy as np
import pytest

from tfport.errors import RunCancelled
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.serve.servable import Arrays
from tfport.serve.thread_shares import CallThreads, ThreadShares

PATIENCE = 60


class User:
    """A servable, perhaps with a limit."""

    def __init__(self, most: int = 0) -> None:
        self.most = most

    def most_runs(self) -> int:
        return self.most


class Work:
    """Work that waits until it is released; counts how often it runs at the same time."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Semaphore(0), threading.Semaphore(0)
        self.running = self.most = 0
        self.order: list[object] = []
        self._lock = threading.Lock()

    def __call__(self, label: object) -> Callable[[StopSignal], Arrays]:
        def run(stop: StopSignal) -> Arrays:
            with self._lock:
                self.running += 1
                self.most = max(self.most, self.running)
                self.order.append(label)
            self.begun.release()
            assert self.go.acquire(timeout=PATIENCE)
            with self._lock:
                self.running -= 1
            return {"y": np.array(label)}

        return run

    async def has_begun(self, count: int = 1) -> None:
        for _ in range(count):
            assert await asyncio.to_thread(self.begun.acquire, timeout=PATIENCE)

    def release(self, count: int = 1) -> None:
        for _ in range(count):
            self.go.release()


def started(threads: CallThreads, user: User, work: Callable[[StopSignal], Arrays]) -> asyncio.Task[Arrays]:
    return asyncio.ensure_future(threads.run(user, work))


def test_a_servable_begins_while_threads_are_free_or_nothing_of_it_runs():
    shares, one, other = ThreadShares(2), User(), User()
    for _ in range(2):
        assert shares.may_begin(one)
        shares.began(one)
    assert not shares.may_begin(one)
    assert shares.may_begin(other)
    shares.began(other)
    assert not shares.may_begin(other)
    shares.ended(one)
    assert not shares.may_begin(one)  # two threads are in use
    shares.ended(other)
    assert shares.may_begin(one)


def test_a_limit_is_that_of_one_servable():
    shares, limited, other = ThreadShares(4), User(most=2), User()
    for _ in range(2):
        assert shares.may_begin(limited)
        shares.began(limited)
    assert not shares.may_begin(limited)
    assert shares.may_begin(other)
    limited.most = 3  # a reload
    assert shares.may_begin(limited)


def test_calls_that_never_end_stop_no_other_servable():
    async def test() -> None:
        threads, endless, quick = CallThreads(2), Work(), Work()
        stuck, other = User(), User()
        calls = [started(threads, stuck, endless(i)) for i in range(5)]
        await endless.has_begun(2)
        quick.release(3)
        for i in range(3):
            assert (await threads.run(other, quick(i)))["y"] == i
        assert endless.most == 2
        endless.release(5)
        assert [answer["y"] for answer in await asyncio.gather(*calls)] == list(range(5))
        assert endless.most == 2

    asyncio.run(test())


def test_all_that_may_begin_begin_when_a_run_ends():
    """A thread is free, and the other servable has nothing running: two calls begin, not only one."""

    async def test() -> None:
        threads, stuck, quick, one, other = CallThreads(2), Work(), Work(), User(), User()
        calls = [started(threads, one, stuck(0)), started(threads, other, quick(0))]
        await asyncio.gather(stuck.has_begun(), quick.has_begun())
        calls += [started(threads, one, stuck(1)), started(threads, other, quick(1))]
        await asyncio.sleep(0)
        quick.release()
        await asyncio.gather(stuck.has_begun(), quick.has_begun())
        stuck.release(2)
        quick.release()
        assert [answer["y"] for answer in await asyncio.gather(*calls)] == [0, 0, 1, 1]
        assert (stuck.most, quick.most) == (2, 1)

    asyncio.run(test())


def test_those_that_wait_take_turns():
    async def test() -> None:
        threads, works, users = CallThreads(3), [Work() for _ in range(3)], [User() for _ in range(3)]
        calls = [started(threads, user, work(0)) for user, work in zip(users, works, strict=True)]
        await asyncio.gather(*(work.has_begun() for work in works))
        first, second, third = works
        calls += [started(threads, users[0], first(i)) for i in range(2)]
        await asyncio.sleep(0)
        calls += [started(threads, users[1], second(i)) for i in range(2)]
        await asyncio.sleep(0)
        third.release()
        await first.has_begun()
        first.release()
        await second.has_begun()  # though another call of the first servable came before
        first.release(2)
        second.release(3)
        assert [answer["y"] for answer in await asyncio.gather(*calls)] == [0, 0, 0, 0, 1, 0, 1]

    asyncio.run(test())


def test_a_call_that_is_cancelled_while_it_waits_never_runs():
    async def test() -> None:
        threads, work, user = CallThreads(1), Work(), User()
        first = started(threads, user, work(1))
        await work.has_begun()
        second, third = (started(threads, user, work(i)) for i in (2, 3))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        work.release(3)
        assert (await first)["y"] == 1
        assert (await third)["y"] == 3
        assert work.order == [1, 3]

    asyncio.run(test())


def test_a_run_is_stopped_when_its_caller_is_cancelled():
    async def test() -> None:
        seen: list[StopSignal] = []
        begun, stopped = threading.Event(), threading.Event()

        def run(stop: StopSignal) -> Arrays:
            seen.append(stop)
            stop.handle(run, lambda: (None, stopped.set))
            begun.set()
            assert stopped.wait(PATIENCE)
            stop.check()
            return {}

        call = started(CallThreads(1), User(), run)
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert isinstance(seen[0].reason, RunCancelled)

    asyncio.run(test())


def test_an_error_is_that_of_its_caller():
    async def test() -> None:
        def fails(stop: StopSignal) -> Arrays:
            raise ZeroDivisionError

        threads = CallThreads(1)
        with pytest.raises(ZeroDivisionError):
            await threads.run(User(), fails)
        work = Work()
        work.release()
        assert (await threads.run(User(), work(1)))["y"] == 1

    asyncio.run(test())
