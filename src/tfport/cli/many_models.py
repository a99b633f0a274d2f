"""Do the same with many models, in parallel processes if there are enough of them.

Results come in the order of the models, each as soon as it and those before it are done. What is done returns
what the report needs and not the model, which is large.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tfport.errors import Error
from tfport.operating_system import interrupts_blocked, processors, start_resource_tracker

PARALLEL_FROM = 16
"""Fewer models take less time here than starting processes."""
CHUNK = 4
GC_THRESHOLD = 200_000
Request = TypeVar("Request")
Result = TypeVar("Result")


def for_each_model(do: Callable[[Request], Result], requests: Sequence[Request]) -> Iterator[Result]:
    """What `do` returns for each request; it is pickled, as requests and results are."""
    available = processors()
    if len(requests) < PARALLEL_FROM or available < 2:
        return _sequentially(do, requests)
    return _in_parallel(do, requests, available)


def _sequentially(do: Callable[[Request], Result], requests: Sequence[Request]) -> Iterator[Result]:
    for request in requests:
        yield _done(do, request)


def _done(do: Callable[[Request], Result], request: Request) -> Result:
    result = do(request)
    gc.collect()  # automatic collection is disabled in commands, and models are large
    return result


def _in_parallel(
    do: Callable[[Request], Result], requests: Sequence[Request], available: int
) -> Iterator[Result]:
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    spawn = multiprocessing.get_context("spawn")  # a fork would share the open atlas
    start_resource_tracker()
    pool = None
    try:
        with interrupts_blocked():  # also those of a pool half made, whose semaphores nobody would release
            pool = ProcessPoolExecutor(available, mp_context=spawn, initializer=_configure_worker)
            results = pool.map(functools.partial(_done, do), requests, chunksize=CHUNK)
        yield from results
    except BrokenProcessPool:
        raise Error(
            "a worker process was killed, possibly for lack of memory; name fewer models at a time"
        ) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _configure_worker() -> None:
    """Collect garbage, but rarely: a worker reads many models."""
    gc.set_threshold(GC_THRESHOLD)
