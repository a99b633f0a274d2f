"""Threads that servables share: none of them can keep all.

    threads = CallThreads(4)
    await threads.run(runner, lambda stop: run_signature(…, stop))

A servable may begin a run while a thread is free, or if nothing of it runs: for that there are extra threads.
So as many endless calls as threads keep one model busy, and no other. Calls that wait take turns by servable.
`batching.scheduler` decides by the same `ThreadShares` when batches run.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Protocol

from tfport.errors import RunCancelled
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.freed_memory import thread_pool
from tfport.serve.servable import NOBODY_WAITS, Arrays

MOST_SERVABLES = 1024
"""Extra threads, so that each servable can have one; they are started when needed."""


class ThreadUser(Protocol):
    """The runner of a servable."""

    def most_runs(self) -> int:
        """How many of its runs may be in progress; 0 means no limit but the number of threads."""
        ...


class ThreadShares:
    """Which servable may begin a run; callers must hold a lock."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._running: Counter[ThreadUser] = Counter()
        self._total = 0

    def may_begin(self, user: ThreadUser) -> bool:
        running = self._running[user]
        if not running:
            return True
        return self._total < self.threads and not 0 < user.most_runs() <= running

    def began(self, user: ThreadUser) -> None:
        self._running[user] += 1
        self._total += 1

    def ended(self, user: ThreadUser) -> None:
        self._total -= 1
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]


class CallThreads:
    """Runs each call alone in a thread; all methods but the work belong to the event loop."""

    def __init__(self, threads: int) -> None:
        self._shares, self._lock = ThreadShares(threads), Lock()
        # a run is slower in a new thread, and a pool starts one if none has become idle yet
        self._pool, self._free = thread_pool(threads, "calls"), threads
        self._extra = thread_pool(MOST_SERVABLES, "extra-calls")
        self._waiting: dict[ThreadUser, dict[_ThreadCall, None]] = {}
        """In the order of their turns, and of their arrival."""

    async def run(self, user: ThreadUser, work: Callable[[StopSignal], Arrays]) -> Arrays:
        """Run in a thread; if the caller is cancelled, as its client is gone or out of time, stop the run."""
        call = _ThreadCall(user, work, asyncio.get_running_loop())
        with self._lock:
            begins = self._shares.may_begin(user)
            if begins:
                self._shares.began(user)
            else:
                self._waiting.setdefault(user, {})[call] = None
        if begins:
            self._begin(call)
        try:
            return await call.answer
        except asyncio.CancelledError:
            call.stop.stop(RunCancelled(NOBODY_WAITS))
            with self._lock:
                self._waiting.get(user, {}).pop(call, None)
            raise

    def close(self) -> None:
        """Begin nothing more; runs in progress end by themselves."""
        with self._lock:
            self._waiting.clear()
        for pool in (self._pool, self._extra):
            pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, call: _ThreadCall) -> None:
        with self._lock:
            usual = self._free > 0
            self._free -= usual
        (self._pool if usual else self._extra).submit(self._work, call, usual)

    def _work(self, call: _ThreadCall, usual: bool) -> None:
        """Run a call, and then those that may begin because it has ended; `usual`: not in an extra thread."""
        while True:
            call.run()
            with self._lock:
                self._shares.ended(call.user)
                begun = []
                while (following := self._next()) is not None:
                    begun.append(following)
                self._free += usual and not begun
            call.deliver()
            if not begun:
                return
            call, *others = begun
            for other in others:
                self._begin(other)

    def _next(self) -> _ThreadCall | None:
        """The call that may begin now, in turn."""
        for user, calls in list(self._waiting.items()):
            if not calls:
                del self._waiting[user]
            elif self._shares.may_begin(user):
                call = next(iter(calls))
                del calls[call]
                self._waiting[user] = self._waiting.pop(user)  # to the end: it had its turn
                self._shares.began(user)
                return call
        return None


class _ThreadCall:
    """A call, its answer, and the signal that stops it."""

    __slots__ = ("_error", "_loop", "_result", "_work", "answer", "stop", "user")

    def __init__(
        self, user: ThreadUser, work: Callable[[StopSignal], Arrays], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.user, self._work, self._loop = user, work, loop
        self.stop = StopSignal()
        self.answer: asyncio.Future[Arrays] = loop.create_future()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        if self.stop.reason is not None:  # nobody waits for it any more
            return
        try:
            self._result = self._work(self.stop)
        except BaseException as error:
            self._error = error

    def deliver(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, so no client is waiting
            self._loop.call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if self.answer.done():  # the call was cancelled
            return
        if self._error is None:
            self.answer.set_result(self._result)
        else:
            self.answer.set_exception(self._error)
