"""A choice between two programs, as one step.

Where the condition is constant only the branch that is taken is walked, and its steps
become ours. Otherwise each branch is a program of its own: an `If` of ONNX where both can
be said in it, and on the host whichever is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.errors import MalformedGraph
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import (
    InnerProgram,
    captured_by,
    has_effect,
    is_true,
    joined,
    touched_by,
    truth,
)
from tfport.runtime.program import OnnxNode, Program, Run, Step
from tfport.runtime.trace import Tracer

Walk = Callable[[], list[Operand]]


def choose(
    tracer: Tracer, name: str, op: str, condition: Operand, then: Walk, otherwise: Walk
) -> list[Operand]:
    """What one of two walks answers, as the condition says."""
    condition = truth(tracer, name, condition)
    if condition.array is not None:
        return then() if is_true(condition.array) else otherwise()
    programs = (tracer.program([], then), tracer.program([], otherwise))
    taken, other = (program.results for program in programs)
    if len(taken) != len(other):
        raise MalformedGraph(f"the branches of `{name}` answer {len(taken)} and {len(other)} tensors")
    differ = [i for i, (a, b) in enumerate(zip(taken, other, strict=True)) if a is not b]
    for program in programs:
        program.results = [program.results[i] for i in differ]
    outputs = _chosen(tracer, name, op, condition, programs)
    answers = list(taken)
    for i, output in zip(differ, outputs, strict=True):
        answers[i] = output
    return answers


def _chosen(
    tracer: Tracer, name: str, op: str, condition: Operand, programs: tuple[Program, Program]
) -> tuple[Operand, ...]:
    effect = has_effect(programs)
    if not programs[0].results and not effect:
        return ()
    pairs = list(zip(programs[0].results, programs[1].results, strict=True))
    outputs = tuple(Operand(a.dtype, joined([a.shape, b.shape]), name=name) for a, b in pairs)
    lowered = None
    if all(program.is_lowered for program in programs) and all(a.dtype == b.dtype for a, b in pairs):
        node = OnnxNode("If", (condition,), outputs, {"then_branch": programs[0], "else_branch": programs[1]})
        lowered = [node] if tracer.engine.takes(node) else None
    captured = captured_by(programs)
    inputs = (condition, *captured, *touched_by(programs))
    run = _run(tracer, programs, captured)
    why = "" if lowered else "a branch is not said in ONNX"
    return tracer.add(Step(name, op, inputs, outputs, lowered, run, effect, why, programs))


def _run(tracer: Tracer, programs: Sequence[Program], captured: Sequence[Operand]) -> Run:
    then, otherwise = (InnerProgram(program, tracer.engine, captured) for program in programs)

    def run(given: Sequence[Any]) -> Sequence[Any]:
        taken = then if is_true(given[0]) else otherwise
        return taken.run((), given[1:])

    return run
