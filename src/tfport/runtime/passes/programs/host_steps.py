"""Host steps that are faster together: loops at the same time, and accesses of variables as one step.

Loops that do not depend on each other, such as those of a bidirectional layer, have steps with `prepare`: it
does little of the work in Python, and returns a function for the rest, which an engine computes in one
thread. Of several such steps, all but the last leave it to the spare thread, if that is free.

A model with several states reads all of them first and assigns all of them last. The work between two host
steps takes longer than that of such a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.spare_thread import beside
from tfport.runtime.operand import Operand
from tfport.runtime.passes.pass_list import host_pass
from tfport.runtime.program import ASSERT, Run, Step
from tfport.runtime.state import Variable


@host_pass
def loops_together(steps: Sequence[Step]) -> list[Step]:
    """Loops that do not depend on each other run at the same time."""
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
    loops = together[0] if len(together) == 1 else _joined_loops(together)
    return [*before, loops, *loops_together(after)]


def _has_effect(steps: Sequence[Step]) -> bool:
    """Whether one of these steps must run before later ones that have an effect, too."""
    return any(step.effect and step.prepare is None and step.op != ASSERT for step in steps)


def _joined_loops(steps: Sequence[Step]) -> Step:
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


@host_pass
def variable_accesses(steps: Sequence[Step]) -> list[Step]:
    """Reads of variables that follow each other are one step, and so are assignments."""
    joined: list[Step] = []
    for op, group in itertools.groupby(steps, _access):
        several = list(group)
        if op is None or len(several) == 1:
            joined += several
        else:
            joined.append((_joined_reads if op == "ReadVariableOp" else _joined_assignments)(several))
    return joined


def _access(step: Step) -> str | None:
    """The op of a step that reads or assigns a known variable."""
    if step.op not in ("ReadVariableOp", "AssignVariableOp") or len(step.outputs) != (step.op[0] == "R"):
        return None
    return step.op if isinstance(step.inputs[0].value, Variable) else None


def _joined_reads(steps: Sequence[Step]) -> Step:
    variables = [step.inputs[0].value for step in steps]

    def run(_: Sequence[Any]) -> list[Any]:
        return [variable.read() for variable in variables]

    return _joined_accesses(steps, (), run)


def _joined_assignments(steps: Sequence[Step]) -> Step:
    variables = [step.inputs[0].value for step in steps]

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        return ()

    return _joined_accesses(steps, tuple(step.inputs[1] for step in steps), run)


def _joined_accesses(steps: Sequence[Step], inputs: tuple[Any, ...], run: Run) -> Step:
    first = steps[0]
    outputs = tuple(output for step in steps for output in step.outputs)
    return Step(first.name, first.op, inputs, outputs, None, run, first.effect, first.why)
