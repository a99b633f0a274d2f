"""Conditional branches: one of two programs runs, as one step.

If the condition is constant, only the selected branch is traced, and its steps are added to the
current program. Otherwise each branch is a separate program. The step is an ONNX `If` if both
branches can be lowered; otherwise the selected branch runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.errors import MalformedGraph
from tfport.graph.dtypes import BOOL
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.lifted_asserts import add_assert, and_true, lifted
from tfport.runtime.ops.control.structure_steps import (
    InnerProgram,
    as_condition,
    captured_by,
    common_shape,
    has_effect,
    is_true,
    resources_used_by,
    why_on_host,
)
from tfport.runtime.program import OnnxNode, Program, Run, Step
from tfport.runtime.trace import Tracer

TraceBranch = Callable[[], list[Operand]]


def choose(
    tracer: Tracer, name: str, op: str, condition: Operand, then: TraceBranch, otherwise: TraceBranch
) -> list[Operand]:
    """The outputs of the branch that the condition selects."""
    condition = as_condition(tracer, name, condition)
    if condition.array is not None:
        return then() if is_true(condition.array) else otherwise()
    programs = (tracer.program([], then), tracer.program([], otherwise))
    then_results, else_results = (program.results for program in programs)
    if len(then_results) != len(else_results):
        raise MalformedGraph(
            f"the branches of `{name}` return {len(then_results)} and {len(else_results)} tensors"
        )
    differ = [i for i, (a, b) in enumerate(zip(then_results, else_results, strict=True)) if a is not b]
    for program in programs:
        program.results = [program.results[i] for i in differ]
    outputs = _branch_step(tracer, name, op, condition, programs)
    results = list(then_results)
    for i, output in zip(differ, outputs, strict=True):
        results[i] = output
    return results


def _branch_step(
    tracer: Tracer, name: str, op: str, condition: Operand, programs: tuple[Program, Program]
) -> tuple[Operand, ...]:
    for program in programs:
        tracer.engine.complete(program)
    effect = has_effect(programs)
    if not programs[0].results and not effect:
        return ()
    pairs = list(zip(programs[0].results, programs[1].results, strict=True))
    outputs = tuple(Operand(a.dtype, common_shape([a.shape, b.shape]), name=name) for a, b in pairs)
    lowered = None
    if all(program.is_lowered for program in programs) and all(a.dtype == b.dtype for a, b in pairs):
        node = OnnxNode("If", (condition,), outputs, {"then_branch": programs[0], "else_branch": programs[1]})
        lowered = [node] if tracer.engine.takes(node) else None
    captured = captured_by(programs)
    inputs = (condition, *captured, *resources_used_by(programs))
    run = _run(tracer, programs, captured)
    if effect and _without_asserts(tracer, name, op, condition, programs, (inputs, outputs, run)):
        return outputs
    reason = "" if lowered else why_on_host(programs)
    return tracer.add(Step(name, op, inputs, outputs, lowered, run, effect, reason, programs))


def _without_asserts(
    tracer: Tracer,
    name: str,
    op: str,
    condition: Operand,
    programs: tuple[Program, Program],
    step: tuple[tuple[Operand, ...], tuple[Operand, ...], Run],
) -> bool:
    """Add the branches to the engine, and an assertion after them; False if that is impossible."""
    sides = [lifted(tracer, name, program) for program in programs]
    then, otherwise = sides
    if then is None or otherwise is None:
        return False
    inputs, outputs, run = step
    if not outputs and otherwise.holds is condition and then.holds.is_constant:
        add_assert(tracer, name, condition)  # `AssertGuard`: assert only if the condition is false
        return True
    holds = Operand(BOOL, (), name=name)
    branches = {
        side: Program([], part.program.steps, [*part.program.results, part.holds])
        for side, part in (("then_branch", then), ("else_branch", otherwise))
    }
    node = OnnxNode("If", (condition,), (*outputs, holds), dict(branches))
    if not tracer.engine.takes(node):
        return False
    tracer.add(
        Step(name, op, inputs, (*outputs, holds), [node], and_true(run), programs=tuple(branches.values()))
    )
    add_assert(tracer, name, holds)
    return True


def _run(tracer: Tracer, programs: Sequence[Program], captured: Sequence[Operand]) -> Run:
    then, otherwise = (InnerProgram(program, tracer.engine, captured) for program in programs)

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        selected = then if is_true(inputs[0]) else otherwise
        return selected.run((), inputs[1:])

    return run
