"""Loops that do not depend on each other, such as those of a bidirectional layer, at the same time.

A step with `prepare` does little of its work in Python: it returns a function for the rest, which an engine
computes in one thread. Of several such steps, all but the last leave it to the spare thread, if that is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.spare_thread import beside
from tfport.runtime.operand import Operand
from tfport.runtime.program import ASSERT, Step


def with_loops_together(steps: Sequence[Step]) -> list[Step]:
    """The steps, with those that may run at the same time as one."""
    before: list[Step] = []
    together: list[Step] = []
    after: list[Step] = []
    waited_for: set[Operand] = set()
    for step in steps:
        waits = any(operand in waited_for for operand in step.inputs)
        is_loop = step.prepare is not None
        if waits or (together and step.effect and not is_loop and step.op != ASSERT) or _has_effect(after):
            after.append(step)
        elif is_loop:
            together.append(step)
        else:
            before.append(step)
            continue
        waited_for.update(step.outputs)
    if not together:
        return list(steps)
    loops = together[0] if len(together) == 1 else _joined(together)
    return [*before, loops, *with_loops_together(after)]


def _has_effect(steps: Sequence[Step]) -> bool:
    """Whether one of these steps must run before later ones that have an effect, too."""
    return any(step.effect and step.prepare is None and step.op != ASSERT for step in steps)


def _joined(steps: Sequence[Step]) -> Step:
    first, *_ = steps
    inputs = tuple(operand for step in steps for operand in step.inputs)
    outputs = tuple(output for step in steps for output in step.outputs)

    def run(arrays: Sequence[Any]) -> list[Any]:
        scope = current_scope()
        counts_memory = scope is not None and scope.max_bytes > 0  # which is counted for one thread
        waiting = []
        for step, values in zip(steps, _parts(arrays, steps), strict=True):
            assert step.prepare is not None
            rest = step.prepare(values)
            is_last = step is steps[-1]
            waiting.append(rest if counts_memory or is_last else beside(rest))
        *others, last = waiting
        if counts_memory:
            return [output for rest in waiting for output in rest()]
        ends = list(last())
        return [*(output for wait in others for output in wait()), *ends]

    return Step(first.name, first.op, inputs, outputs, None, run, any(s.effect for s in steps), first.why)


def _parts(arrays: Sequence[Any], steps: Sequence[Step]) -> Iterator[Sequence[Any]]:
    """The inputs of each step."""
    at = 0
    for step in steps:
        yield arrays[at : at + len(step.inputs)]
        at += len(step.inputs)
