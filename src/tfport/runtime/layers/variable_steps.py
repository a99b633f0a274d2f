"""Host steps that read or assign variables one after another, as one step each.

A model with several states reads all of them first and assigns all of them last. The work between two host
steps takes longer than that of such a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tfport.runtime.program import Run, Step
from tfport.runtime.state import Variable


def with_joined_accesses(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, each run of reads and each run of assignments of variables as one."""
    for op, group in itertools.groupby(steps, _access):
        several = list(group)
        if op is None or len(several) == 1:
            yield from several
        else:
            yield (_joined_reads if op == "ReadVariableOp" else _joined_assignments)(several)


def _access(step: Step) -> str | None:
    """The op of a step that reads or assigns a known variable."""
    if step.op not in ("ReadVariableOp", "AssignVariableOp") or len(step.outputs) != (step.op[0] == "R"):
        return None
    return step.op if isinstance(step.inputs[0].value, Variable) else None


def _joined_reads(steps: Sequence[Step]) -> Step:
    variables = [step.inputs[0].value for step in steps]

    def run(_: Sequence[Any]) -> list[Any]:
        return [variable.read() for variable in variables]

    return _joined(steps, (), run)


def _joined_assignments(steps: Sequence[Step]) -> Step:
    variables = [step.inputs[0].value for step in steps]

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        return ()

    return _joined(steps, tuple(step.inputs[1] for step in steps), run)


def _joined(steps: Sequence[Step], inputs: tuple[Any, ...], run: Run) -> Step:
    first = steps[0]
    outputs = tuple(output for step in steps for output in step.outputs)
    return Step(first.name, first.op, inputs, outputs, None, run, first.effect, first.why)
