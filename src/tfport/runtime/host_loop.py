"""Run host steps one after another, with as little work between them as possible.

A step of a few numbers takes about a microsecond, so what happens between two steps counts: inputs are
taken from the list of values by one call into C, and a single output needs no loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.bounds.stop_signal import NEVER
from tfport.runtime.operand import Operand
from tfport.runtime.program import Run, Step
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class HostCall:
    """A step: its function, the indices of its inputs, and of its outputs."""

    run: Run
    reads: Sequence[int]
    writes: Sequence[int]


def host_loop(calls: Sequence[HostCall], inputs: int, values: int, constants: Sequence[Any]) -> Run:
    """A function of the first `inputs` values that returns all values and the constants after them.

    Indices from 0 on are those of values; the index -1 is that of the last constant, and so on. An output
    that is a constant is not stored.
    """
    spare = values  # for outputs that nobody reads
    blank = [None] * (values - inputs + 1)
    work = [
        (call.run, _taking(call.reads), [index if index >= 0 else spare for index in call.writes])
        for call in calls
    ]
    steps = [(run, take, writes[0] if len(writes) == 1 else None, writes) for run, take, writes in work]

    def run(arrays: Sequence[Any]) -> list[Any]:
        scope = current_scope()
        signal = NEVER if scope is None else scope.stop
        slots = [*arrays, *blank, *constants]
        with np.errstate(all="ignore"):
            for step, take, single, writes in steps:
                if signal.reason is not None:
                    signal.check()
                if single is not None:
                    (slots[single],) = step(take(slots))
                else:
                    for index, output in zip(writes, step(take(slots)), strict=True):
                        slots[index] = output
        return slots

    return run


def _taking(indices: Sequence[int]) -> Callable[[Sequence[Any]], Any]:
    """A function that takes these elements of a list."""
    if len(indices) > 1:
        return itemgetter(*indices)
    first = indices[0] if indices else 0
    return itemgetter(slice(first, (first + 1) or None) if indices else slice(0))


def original_steps(steps: Sequence[Step], inputs: Sequence[Operand], outputs: Sequence[Operand]) -> Run:
    """A function of arrays of the inputs that runs the steps that another one replaces.

    It returns arrays of the outputs, in cases that the other step does not handle.
    """
    calls = [(step.run, step.inputs, step.outputs) for step in steps]

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        known = dict(zip(inputs, arrays, strict=True))
        for call, reads, writes in calls:
            assert call is not None
            results = call([operand.value if operand.is_constant else known[operand] for operand in reads])
            known.update(zip(writes, results, strict=True))
        return [known[output] for output in outputs]

    return run
