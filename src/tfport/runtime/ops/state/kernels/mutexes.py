"""Locks that a model takes: between being taken and consumed, nobody else of the session has one."""

from __future__ import annotations

import threading

from tfport.runtime.lower import host


class Mutex:
    """A lock with a name."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Held:
    """A lock that was taken; it is free again when it is consumed, or when nobody has it any more."""

    def __init__(self, mutex: Mutex) -> None:
        mutex.lock.acquire()
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.lock.release()

    def __del__(self) -> None:
        self.release()


@host("MutexV2", once=True)
def mutex(*, container, shared_name, context):
    return context.state.resource(Mutex, shared_name or context.name, Mutex)


@host("MutexLock")
def mutex_lock(mutex):
    return Held(mutex)


@host("ConsumeMutexLock")
def consume_mutex_lock(mutex_lock):
    mutex_lock.release()
