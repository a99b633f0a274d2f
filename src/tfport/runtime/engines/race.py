"""A short race between engines on one island: the fastest choice that gives the same answers."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tfport.errors import Error, RunStopped
from tfport.runtime.engines.choice_cache import Choice
from tfport.runtime.engines.engine import Compiled
from tfport.runtime.engines.same_answers import agree, difference

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

    Rivals must give the same answers on the inputs of the call and on variations of them.

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


# Whether a contender gives the same answers as the engine in use, on several inputs.
#
# Floats must agree within the tolerance of `same_answers`. Some models enlarge rounding errors beyond it: the
# answers of ONNX Runtime itself change by more where the last bit of each input does, and its sums round
# otherwise (`rounded_model`). TensorFlow's answers for these differ as much from those of ONNX Runtime.
# There, what rounding changes is the measure, for each input its own, up to a limit.

FACTOR = 4
"""How much more may differ than what rounding changes in a few runs of one engine: three times the deviation
of such changes, and the root of 2 for two engines that round."""
CHANGES = 2
"""How many models that round otherwise are run, and each of them with how many changes of the inputs."""
MOST = 1e-2
"""A larger part of the largest answer never differs."""

_Trial = tuple[Sequence[Any], Sequence[Any]]
"""Inputs, and the answers of the engine in use."""


class Trials:
    """Inputs, and the answers of the engine in use."""

    def __init__(
        self,
        run: Compiled,
        arrays: Sequence[Any],
        expected: Sequence[Any],
        nearby: Callable[[int], Compiled] | None = None,
    ) -> None:
        """`arrays` are the inputs of a call, for which `run` answered `expected`.

        `nearby` compiles the model that is run so that it rounds otherwise, another time for each number.
        """
        self._run, self._given = run, (arrays, expected)
        self._nearby = nearby or (lambda _: run)

    def accept(self, contender: Compiled) -> bool:
        """Whether a contender agrees, on the inputs of the call and on variations of them."""
        return all(self._agrees(contender, index) for index in range(len(self._all)))

    def accept_again(self, contender: Compiled) -> bool:
        """Whether a contender that once was accepted agrees on the inputs of the call."""
        inputs, expected = self._given
        answers = contender(inputs)
        return agree(expected, answers) or agree(expected, answers, self._enlarged([self._given])[0])

    def _agrees(self, contender: Compiled, index: int) -> bool:
        inputs, expected = self._all[index]
        answers = contender(inputs)
        return agree(expected, answers) or agree(expected, answers, self._tolerances[index])

    @cached_property
    def _all(self) -> list[_Trial]:
        return [self._given, *self._answered(self._run, trial_inputs(self._given[0]))]

    @cached_property
    def _tolerances(self) -> list[list[float]]:
        return self._enlarged(self._all)

    def _enlarged(self, trials: Sequence[_Trial]) -> list[list[float]]:
        """For each trial and answer, how much of the largest one may differ."""
        changes = [[0.0] * len(expected) for _, expected in trials]
        for number in range(CHANGES):
            of_number = self._changes(self._nearby(number), trials)
            changes = [list(map(max, *pair)) for pair in zip(changes, of_number, strict=True)]
        return [[min(FACTOR * change, MOST) for change in of_trial] for of_trial in changes]

    def _changes(self, near: Compiled, trials: Sequence[_Trial]) -> list[list[float]]:
        """How much the answers of a model that rounds otherwise differ, where they are finite."""
        changes = [[0.0] * len(expected) for _, expected in trials]
        for index, (inputs, expected) in enumerate(trials):
            changed = ([next_to(array, seed) for array in inputs] for seed in range(CHANGES))
            for _, answers in self._answered(near, changed):
                parts = [difference(*pair) for pair in zip(expected, answers, strict=True)]
                finite = [part if math.isfinite(part) else 0.0 for part in parts]
                changes[index] = list(map(max, changes[index], finite))
        return changes

    def _answered(self, run: Compiled, inputs: Iterable[Sequence[Any]]) -> Iterator[_Trial]:
        """Other inputs that the engine takes, and its answers."""
        for arrays in inputs:
            try:
                yield arrays, run(arrays)
            except RunStopped:
                raise
            except Error:
                continue


def next_to(array: Any, seed: int) -> Any:
    """Floats with their last bit changed, as rounding once might: up or down at random, not in turn.

    In turn, the changes of neighbors might cancel out. A single number stays: it may be a setting that sizes
    depend on.
    """
    if array.dtype.kind != "f" or array.size == 1:
        return array
    up = np.random.default_rng(seed).integers(2, size=array.shape, dtype=np.int8)
    return np.nextafter(array, np.where(up, np.inf, -np.inf).astype(array.dtype))


def trial_inputs(arrays: Sequence[Any]) -> Iterator[list[Any]]:
    """Variations of the inputs of a call; none if there are no floats.

    What agrees on one image may differ on the next. The floats are reversed; sorted, so that neighbors are
    alike; and given a mean of 0 and a deviation of 1. Integers stay, because they may be indices.
    """
    if any(array.dtype.kind == "f" for array in arrays):
        for change in (_reversed, _sorted, _standardized):
            yield [change(array) if array.dtype.kind == "f" else array for array in arrays]


def _reversed(array: Any) -> Any:
    return np.ascontiguousarray(array.ravel()[::-1]).reshape(array.shape)


def _sorted(array: Any) -> Any:
    return np.sort(array, axis=None).reshape(array.shape)


def _standardized(array: Any) -> Any:
    wide = array.astype(np.float64)
    return ((wide - wide.mean()) / (wide.std() or 1)).astype(array.dtype)
