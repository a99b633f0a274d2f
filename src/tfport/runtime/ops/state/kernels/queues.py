"""Queues, stacks and mutexes inside one session.

Nothing else fills a queue, so an op that would wait fails instead. TF1 loops fill stacks for their gradients.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.lower import Context, host

LOOK_SECONDS = 0.05
"""Time between two looks at the stop signal, while another run has the lock of a mutex."""


class Queue:
    """Elements in order, each a tuple of tensors."""

    def __init__(self, name: str, types: list[Any], shapes: list[Any], capacity: int) -> None:
        self.name, self.types, self.capacity = name, types, capacity
        self.shapes = [shape.dims for shape in shapes]
        self.items: deque[tuple[Any, ...]] = deque()
        self.closed = False
        self.pads = False
        self.random: np.random.Generator | None = None
        self.keeps = 0
        """Elements that stay in an open queue so that they can be shuffled."""
        self.lock = threading.RLock()

    def put(self, element: tuple[Any, ...]) -> None:
        with self.lock:
            if self.closed:
                raise RunFailed(f"queue `{self.name}` is closed")
            if 0 <= self.capacity <= len(self.items):
                raise RunFailed(f"queue `{self.name}` is full, and no other op takes from it")
            if len(element) != len(self.types):
                raise RunFailed(f"queue `{self.name}` takes {len(self.types)} tensors, found {len(element)}")
            for tensor, shape in zip(element, self.shapes or [None] * len(element), strict=True):
                if shape is not None and not _fits(np.shape(tensor), shape):
                    raise RunFailed(f"queue `{self.name}` expects shape {shape}, found {np.shape(tensor)}")
            self.items.append(element)

    def take(self, count: int, *, fewer: bool = False) -> list[tuple[Any, ...]]:
        """Remove elements; an error if there are too few, because waiting would never end."""
        with self.lock:
            available = len(self.items) - (0 if self.closed else self.keeps)
            if available < count and not (fewer and self.closed and available):
                state = "closed" if self.closed else "open, but nothing fills it"
                raise RunFailed(
                    f"queue `{self.name}` is {state}: expected {count} elements, found {max(available, 0)}"
                )
            return [self._next() for _ in range(min(count, available))]

    def _next(self) -> tuple[Any, ...]:
        if self.random is not None:
            self.items.rotate(-int(self.random.integers(len(self.items))))
        return self.items.popleft()

    def batch(self, elements: list[tuple[Any, ...]]) -> list[Any]:
        """Stack the elements: one tensor per component."""
        if not elements:
            shapes = [tuple(n or 0 for n in shape or ()) for shape in self.shapes]
            return [np.zeros((0, *s), t.numpy) for s, t in zip(shapes, self.types, strict=True)]
        return [_stacked(list(part), self.pads) for part in zip(*elements, strict=True)]


def _stacked(parts: list[Any], pads: bool) -> Any:
    if not pads:
        return np.stack(parts)
    shape = np.max([part.shape for part in parts], axis=0, initial=0).astype(int)
    out = np.full((len(parts), *shape), b"" if parts[0].dtype == object else 0, parts[0].dtype)
    for row, part in zip(out, parts, strict=True):
        row[tuple(slice(n) for n in part.shape)] = part
    return out


def _fits(shape: tuple[int, ...], other: tuple[int | None, ...]) -> bool:
    return len(shape) == len(other) and all(b is None or a == b for a, b in zip(shape, other, strict=True))


def _queue(context: Context, shared_name: str, types: Any, shapes: Any, capacity: int) -> Queue:
    name = shared_name or context.name
    return context.state.resource(Queue, name, lambda: Queue(name, types, shapes, capacity))


@host("FIFOQueue FIFOQueueV2", once=True)
def fifo(*, component_types, shapes, capacity, container, shared_name, context):
    return _queue(context, shared_name, component_types, shapes, capacity)


@host("PaddingFIFOQueue PaddingFIFOQueueV2", once=True)
def padding_fifo(*, component_types, shapes, capacity, container, shared_name, context):
    queue = _queue(context, shared_name, component_types, shapes, capacity)
    queue.pads = True
    return queue


@host("RandomShuffleQueue RandomShuffleQueueV2", once=True)
def random_shuffle(
    *, component_types, shapes, capacity, min_after_dequeue, seed, seed2, container, shared_name, context
):
    queue = _queue(context, shared_name, component_types, shapes, capacity)
    if queue.random is None:
        queue.random = np.random.default_rng([seed, seed2] if seed or seed2 else None)
        queue.keeps = min_after_dequeue
    return queue


@host("QueueEnqueue QueueEnqueueV2")
def enqueue(handle, components, *, timeout_ms):
    handle.put(tuple(components))


@host("QueueEnqueueMany QueueEnqueueManyV2")
def enqueue_many(handle, components, *, timeout_ms):
    rows = {len(part) for part in components}
    if len(rows) != 1:
        raise RunFailed(f"components must have the same number of rows, found {sorted(rows)}")
    for i in range(rows.pop()):
        handle.put(tuple(part[i : i + 1].reshape(part.shape[1:]) for part in components))


@host("QueueDequeue QueueDequeueV2")
def dequeue(handle, *, component_types, timeout_ms):
    return list(handle.take(1)[0])


@host("QueueDequeueMany QueueDequeueManyV2")
def dequeue_many(handle, n, *, component_types, timeout_ms):
    return handle.batch(handle.take(_count(n)))


@host("QueueDequeueUpTo QueueDequeueUpToV2")
def dequeue_up_to(handle, n, *, component_types, timeout_ms):
    return handle.batch(handle.take(_count(n), fewer=True))


def _count(n: Any) -> int:
    if int(n) < 0:
        raise RunFailed(f"n must not be negative, found {int(n)}")
    return int(n)


@host("QueueSize QueueSizeV2")
def size(handle):
    return np.array(len(handle.items), np.int32)


@host("QueueIsClosed QueueIsClosedV2")
def is_closed(handle):
    return np.array(handle.closed)


@host("QueueClose QueueCloseV2")
def close(handle, *, cancel_pending_enqueues):
    handle.closed = True


class Stack:
    """A stack of tensors, new in each run."""

    def __init__(self, most: int) -> None:
        self.items: list[Any] = []
        self.most = most
        self.closed = False


@host("Stack")
def stack(*, elem_type, stack_name):
    return Stack(-1)


@host("StackV2")
def stack_v2(max_size, *, elem_type, stack_name):
    return Stack(int(max_size))


@host("StackPush StackPushV2")
def push(handle, elem, *, swap_memory):
    if handle.closed:
        raise RunFailed("the stack is closed")
    if 0 <= handle.most <= len(handle.items):
        raise RunFailed(f"the stack is full: max_size is {handle.most}")
    handle.items.append(elem)
    return elem


@host("StackPop StackPopV2")
def pop(handle, *, elem_type):
    if handle.closed or not handle.items:
        raise RunFailed("the stack is empty" if not handle.closed else "the stack is closed")
    return handle.items.pop()


@host("StackClose StackCloseV2")
def close_stack(handle):
    handle.closed = True
    handle.items = []


class Mutex:
    """A named lock: from MutexLock to ConsumeMutexLock, no other run of the session holds it."""

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
