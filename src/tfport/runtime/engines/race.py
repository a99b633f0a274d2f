"""A short race between engines on one island: the fastest choice that gives the same answers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from tfport.errors import Error, RunStopped
from tfport.runtime.engines.choice_cache import Choice
from tfport.runtime.engines.engine import Compiled
from tfport.runtime.engines.trials import Trials

ROUNDS = 15


SECONDS = 1.0
"""A race of two ends after this time, but not before its second round."""


LEAD = 0.9
"""A rival must take less than this part of the time: what is usual stays if both are about as fast. Of two
other engines, the faster one is used."""


PAUSE = 0.005
"""Seconds after which the threads of the other contender no longer spin."""


def fastest(
    compiled_by: Callable[[Choice], Compiled],
    leader: Compiled,
    choice: Choice,
    rivals: Sequence[Choice],
    arrays: Sequence[Any],
    expected: Sequence[Any],
    *,
    nearby: Callable[[int], Compiled] | None = None,
    times: Callable[[Compiled, Compiled, Sequence[Any]], tuple[float, float]] | None = None,
) -> tuple[Choice, Compiled]:
    """Race: what to use instead of `choice`, which is compiled as `leader` and answered `expected`.

    Rivals must give the same answers on the inputs of the call and on variations of them (`trials`).

    `nearby`: see `Trials`. `times` measures two contenders (default: `best_times`).
    One rival is in memory at a time, besides what the caller has: the fastest is compiled again if another
    one came after it.
    """
    trials = Trials(leader, arrays, expected, nearby)
    usual, best, part = choice, choice, 1.0
    compiled = leader
    for rival in rivals:
        compiled = leader  # frees the rival before
        try:
            compiled = compiled_by(rival)
            if not trials.accept(compiled):
                continue
            # what other programs do changes seconds by more than the processor time of one thread
            clock = time.process_time if usual.threads == rival.threads == 1 else time.perf_counter
            measure = times or functools.partial(best_times, clock=clock)
            time_of_leader, time_of_rival = measure(leader, compiled, arrays)
        except RunStopped:
            raise
        except Error:
            continue  # it does not support the island, or not these inputs
        own = time_of_rival / time_of_leader
        if own < part * (LEAD if best.engine in (usual.engine, rival.engine) else 1):
            best, part = rival, own
    if best == usual:
        return usual, leader
    if rivals[-1] != best:
        compiled = leader
        compiled = compiled_by(best)
        compiled(arrays)  # a first run compiles
    return best, compiled


def best_times(
    first: Compiled,
    second: Compiled,
    arrays: Sequence[Any],
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """The shortest times of two contenders that run in turn."""
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + SECONDS
    for count in range(ROUNDS):
        if count > 1 and time.perf_counter() > end:
            break
        for at, run in enumerate((first, second)):
            time.sleep(PAUSE)
            run(arrays)  # wakes the threads
            began = clock()
            run(arrays)
            best[at] = min(best[at], clock() - began)
    return best[0], best[1]
