"""Mutexes: from MutexLock to ConsumeMutexLock, no other run of the session holds the lock."""

from __future__ import annotations

import threading

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.lower import host

LOOK_SECONDS = 0.05
"""Time between two looks at the stop signal, while another run has the lock."""


class Mutex:
    """A named lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class AcquiredLock:
    """An acquired lock; released when consumed or garbage-collected."""

    def __init__(self, mutex: Mutex) -> None:
        while not mutex.lock.acquire(timeout=LOOK_SECONDS):
            if (scope := current_scope()) is not None:
                scope.stop.check()
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        mutex, self._mutex = getattr(self, "_mutex", None), None
        if mutex is not None:
            mutex.lock.release()

    def __del__(self) -> None:
        self.release()


@host("MutexV2", once=True)
def mutex(*, container, shared_name, context):
    return context.state.resource(Mutex, shared_name or context.name, Mutex)


@host("MutexLock")
def mutex_lock(mutex):
    return AcquiredLock(mutex)


@host("ConsumeMutexLock")
def consume_mutex_lock(mutex_lock):
    mutex_lock.release()
