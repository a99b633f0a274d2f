"""Assertions inside loops and branches, which would keep all of their body out of the engine.

The engine computes whether they hold, and one assertion after the loop or branch checks it. If it
fails, the run is repeated on the host (`EngineFailed`), where the model's own assertion fails with
its message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import BOOL
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.program import ASSERT, Program, Run, Step, needed
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass

TRUE = np.array(True)


@dataclass(frozen=True)
class Lifted:
    """A program without its assertions, and whether they hold."""

    program: Program
    holds: Operand


def lifted(tracer: Tracer, name: str, program: Program) -> Lifted | None:
    """The program without its assertions; None if the rest of it cannot be lowered."""
    asserts = [step for step in program.steps if step.effect]
    if any(step.op != ASSERT or step.inputs[0].rank != 0 for step in asserts):
        return None
    conditions = [step.inputs[0] for step in asserts]
    added = tracer.program([], lambda: [all_of(tracer, name, conditions)])
    steps = [*(step for step in program.steps if not step.effect), *added.steps]
    (holds,) = added.results
    rest = Program(program.args, needed(steps, [*program.results, holds]), program.results)
    return Lifted(rest, holds) if rest.is_lowered else None


def all_of(tracer: Tracer, name: str, conditions: Sequence[Operand]) -> Operand:
    """Whether all conditions are true."""
    unknown = [c for c in dict.fromkeys(conditions) if c.array is None or not c.array]
    first, *others = unknown or [Operand(BOOL, value=TRUE)]
    for other in others:
        first = emit(
            tracer,
            name,
            "LogicalAnd",
            [first, other],
            np.logical_and,
            (BOOL, ()),
            lambda b, x, y: b.And(x, y),
        )
    return first


def and_true(run: Run) -> Run:
    """The run of a loop or branch on the host, where assertions fail by themselves: afterwards they hold."""
    return lambda inputs: [*run(inputs), TRUE]


def add_assert(tracer: Tracer, name: str, holds: Operand) -> None:
    """Add the assertion after a loop or branch."""

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        if not inputs[0]:
            raise EngineFailed(f"`{name}`: an assertion of the model failed")
        return ()

    tracer.add(Step(name, ASSERT, (holds,), (), None, run, effect=True, why="assertions fail on the host"))
