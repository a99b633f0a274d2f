"""Do the same with many models, in parallel processes if there are enough of them.

Results come in the order of the models, each as soon as it and those before it are done. What is done returns
what the report needs and not the model, which is large.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tfport.errors import Error

PARALLEL_FROM = 16
"""Fewer models take less time here than starting processes."""
CHUNK = 4
GC_THRESHOLD = 200_000
Request = TypeVar("Request")
Result = TypeVar("Result")


def for_each_model(do: Callable[[Request], Result], requests: Sequence[Request]) -> Iterator[Result]:
    """What `do` returns for each request; it is pickled, as requests and results are."""
    processors = len(os.sched_getaffinity(0))
    if len(requests) < PARALLEL_FROM or processors < 2:
        return _sequentially(do, requests)
    return _in_parallel(do, requests, processors)


def _sequentially(do: Callable[[Request], Result], requests: Sequence[Request]) -> Iterator[Result]:
    for request in requests:
        yield _done(do, request)


def _done(do: Callable[[Request], Result], request: Request) -> Result:
    result = do(request)
    gc.collect()  # automatic collection is disabled in commands, and models are large
    return result


def _in_parallel(
    do: Callable[[Request], Result], requests: Sequence[Request], processors: int
) -> Iterator[Result]:
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import resource_tracker

    spawn = multiprocessing.get_context("spawn")  # a fork would share the open atlas
    resource_tracker.ensure_running()  # its start would unblock interrupts
    pool = None
    try:
        with _interrupts_blocked():  # also those of a pool half made, whose semaphores nobody would release
            pool = ProcessPoolExecutor(processors, mp_context=spawn, initializer=_configure_worker)
            results = pool.map(functools.partial(_done, do), requests, chunksize=CHUNK)
        yield from results
    except BrokenProcessPool:
        raise Error(
            "a worker process was killed, possibly for lack of memory; name fewer models at a time"
        ) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: they end with this one, without messages of their own."""
    import signal  # here, as few commands start processes

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _configure_worker() -> None:
    """Collect garbage, but rarely: a worker reads many models."""
    gc.set_threshold(GC_THRESHOLD)


def with_progress(results: Iterable[Result], total: int, doing: str) -> Iterator[Result]:
    """The same results, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, doing, total, console=Console(stderr=True), transient=True)
