"""Whether a contender gives the same answers as the engine in use, on several inputs.

Floats must agree within the tolerance of `same_answers`. Some models enlarge rounding errors beyond it: the
answers of one engine change by as much where the last bit of each input does. TensorFlow's answers for these
differ as much from those of ONNX Runtime. There, what a last bit changes is the measure, up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tfport.errors import Error, RunStopped
from tfport.runtime.engines.engine import Compiled
from tfport.runtime.engines.same_answers import agree, difference
from tfport.runtime.engines.trial_inputs import trial_inputs

FACTOR = 10
"""How much more may differ than what the last bits of the inputs change: 50 layers round in both engines, and
such errors add up as the root of their number."""
CHANGES = 2
"""How often the last bits are changed for each of the inputs, to see what they do."""
MOST = 1e-2
"""A larger part of the largest answer never differs."""


class Trials:
    """Inputs, and the answers of the engine in use."""

    def __init__(self, run: Compiled, arrays: Sequence[Any], expected: Sequence[Any]) -> None:
        """`arrays` are the inputs of a call, for which `run` answered `expected`."""
        self._run, self._given = run, (arrays, expected)

    def accept(self, contender: Compiled) -> bool:
        """Whether a contender agrees, on the inputs of the call and on variations of them."""
        return all(self._agrees(contender, *trial) for trial in self._all)

    def accept_again(self, contender: Compiled) -> bool:
        """Whether a contender that once was accepted agrees on the inputs of the call."""
        return self._agrees(contender, *self._given)

    def _agrees(self, contender: Compiled, inputs: Sequence[Any], expected: Sequence[Any]) -> bool:
        answers = contender(inputs)
        return agree(expected, answers) or agree(expected, answers, self._enlarged)

    @cached_property
    def _all(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        return [self._given, *self._answered(trial_inputs(self._given[0]))]

    @cached_property
    def _enlarged(self) -> list[float]:
        """For each answer, how much of the largest one may differ."""
        changes = [0.0] * len(self._given[1])
        for inputs, expected in self._all:
            near = ([_next_to(array, seed) for array in inputs] for seed in range(CHANGES))
            for _, answers in self._answered(near):
                parts = map(difference, expected, answers)
                changes = [max(pair) for pair in zip(changes, parts, strict=True)]
        return [min(FACTOR * change, MOST) for change in changes]

    def _answered(self, inputs: Any) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
        """Other inputs that the engine takes, and its answers."""
        for arrays in inputs:
            try:
                yield arrays, self._run(arrays)
            except RunStopped:
                raise
            except Error:
                continue


def _next_to(array: Any, seed: int) -> Any:
    """Floats with their last bit changed, up or down: in turn, the changes of neighbors might cancel out."""
    if array.dtype.kind != "f":
        return array
    up = np.random.default_rng(seed).integers(2, size=array.shape, dtype=np.int8)
    return np.nextafter(array, np.where(up, np.inf, -np.inf).astype(array.dtype))
