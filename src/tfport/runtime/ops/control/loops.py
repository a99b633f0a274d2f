"""A loop as one step: a condition, then iterations of a body that each return the next condition.

A loop that only counts up to a limit has a trip count instead of a condition. A list that gains one
element per iteration is not carried: its elements become a scan output, stacked after the loop
(`loop_lists`). A loop that a pass over loops knows, such as one over a recurrent cell, becomes something
faster (`passes.pass_list.LOOP`). Any other loop is an ONNX `Loop` if its body can be lowered, where possible
without its random draws (`loop_draws`); otherwise its iterations run on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import BOOL, INT64, VARIANT
from tfport.runtime.bounds.run_scope import LoopUsage, current_scope
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.lifted_asserts import TRUE, add_assert, all_of, and_true, lifted
from tfport.runtime.ops.control.loop_body import (
    Loop,
    LoopBody,
    Operands,
    TimeLoop,
    TracedLoop,
    limits_of,
    numbered_body,
    smallest,
    time_loop,
    traced_loop,
)
from tfport.runtime.ops.control.loop_draws import LoopDraws, loop_draws
from tfport.runtime.ops.control.loop_lists import appending_change, rows_after_loop, written_row
from tfport.runtime.ops.control.structure_steps import (
    InnerProgram,
    as_condition,
    captured_by,
    has_effect,
    is_true,
    limited,
    resources_used_by,
    why_on_host,
)
from tfport.runtime.ops.control.traced_lists import counter_value, item_shape_after_loop
from tfport.runtime.passes.pass_list import run_loop_passes
from tfport.runtime.program import OnnxNode, Prepare, Program, Run, Step, needed
from tfport.runtime.trace import Tracer
from tfport.runtime.value_facts import ListChange, ListFacts


def trace_loop(tracer: Tracer, loop: Loop) -> Operands:
    """The values of the loop variables after the loop."""
    first = as_condition(tracer, loop.name, loop.condition(list(loop.initial)))
    if first.array is not None and not is_true(first.array):
        return loop.initial
    traced = traced_loop(tracer, loop, first)
    known = time_loop(traced, _changes(tracer, traced, traced.body))
    results = run_loop_passes(tracer, known)
    return results if results is not None else iterate(tracer, known)


def iterate(tracer: Tracer, known: TimeLoop) -> Operands:
    """The loop by iterations: a fixed number if it only counts, else until its condition is false."""
    traced, changes, limits = known.traced, dict(known.changes), limits_of(known)
    loop, body, first = traced.loop, traced.body, traced.first
    iteration = Operand(INT64, (), name=loop.name)
    results, counters = list(loop.initial), dict[int, int]()
    if limits:
        counters = dict(known.counters)
        body = numbered_body(tracer, loop, body, iteration, counters)
        count = smallest(tracer, loop.name, limits)
        first = counter_value(tracer, loop.name, 0, count, INT64)
        changes = _changes(tracer, traced, body, limits)
        for i, start in counters.items():
            results[i] = counter_value(tracer, loop.name, start, count, loop.initial[i].dtype)
    kept = [i for i in traced.carried if i not in counters]
    _trace_iterations(tracer, loop, body, iteration, first, kept, changes, traced.shapes, results)
    return results


def _changes(
    tracer: Tracer, traced: TracedLoop, body: LoopBody, limits: Sequence[Operand] | None = None
) -> dict[int, ListChange]:
    """The variables to which each iteration adds an element; `limits`: those of the loop, if it has them."""
    loop = traced.loop
    if limits is None:
        limits = limits_of(time_loop(traced, {}))
    count = min((int(limit.array) if limit.array is not None else 0 for limit in limits), default=0)
    changes = {i: appending_change(tracer, loop, body, i) for i in traced.carried}
    if count > 0:
        changes = {i: change or written_row(loop, body, i, count) for i, change in changes.items()}
    return {i: change for i, change in changes.items() if change is not None}


def _trace_iterations(
    tracer: Tracer,
    loop: Loop,
    body: LoopBody,
    iteration: Operand,
    first: Operand,
    carried: Sequence[int],
    changes: dict[int, ListChange],
    shapes: Sequence[Dims | None],
    variables: Operands,
) -> None:
    """Add the step of the loop; `first` is its first condition, or its trip count; set `variables`."""
    kept, results, steps = _parts(body, carried, changes)
    if tracer.limits.max_loop_iterations:
        checked = tracer.program([iteration], lambda: [limited(tracer, loop.name, iteration, results[0])])
        steps, results = [*steps, *checked.steps], [*checked.results, *results[1:]]
    before = Operand(BOOL, (), name=loop.name)
    program = Program([iteration, before, *(body.args[i] for i in kept)], steps, results)
    outputs = [Operand(loop.initial[i].dtype, shapes[i], name=loop.name) for i in kept]
    outputs += [_rows(change.item, loop.name) for change in changes.values()]
    if outputs or has_effect([program]):
        starts = [first, *(loop.initial[i] for i in kept)]
        add_loop(tracer, loop.name, loop.op, program, starts, outputs)
    for i, output in zip((*kept, *changes), outputs, strict=True):
        facts = tracer.lists.get(loop.initial[i])
        if i in changes:
            variables[i] = rows_after_loop(tracer, loop, i, changes[i], output)
        elif facts is None:
            variables[i] = output
        else:
            items = item_shape_after_loop(tracer, loop.initial[i], body.args[i], body.results[i])
            tracer.lists[output] = ListFacts(facts.element, facts.shape, items=items)
            variables[i] = output


def _parts(
    body: LoopBody, carried: Sequence[int], changes: dict[int, ListChange]
) -> tuple[list[int], Operands, list[Step]]:
    """The carried variables, the results of an iteration, and its steps; a list that is read is carried."""
    while True:
        kept = [i for i in carried if i not in changes]
        results = [body.program.results[0], *(body.results[i] for i in kept)]
        results += [change.item for change in changes.values()]
        steps = needed(body.program.steps, results)
        read = {operand for step in steps for operand in step.inputs} | set(results)
        if not (still_read := [i for i in changes if body.args[i] in read]):
            return kept, results, steps
        for i in still_read:
            del changes[i]


def _rows(item: Operand, name: str) -> Operand:
    return Operand(item.dtype, None if item.shape is None else (None, *item.shape), name=name)


def add_loop(
    tracer: Tracer, name: str, op: str, program: Program, starts: Operands, outputs: Operands
) -> None:
    """Add the step of a loop whose iterations are a program: `starts` are its condition or trip count and the
    first values of what it carries."""
    tracer.engine.complete(program)
    captured = captured_by([program])
    inputs = (*starts, *captured, *resources_used_by([program]))
    items = program.results[len(starts) :]
    run = _run(InnerProgram(program, tracer.engine, captured), len(starts), items, name)
    effect = has_effect([program])
    if effect and _without_asserts(tracer, name, op, program, starts, outputs, (inputs, run)):
        return
    lowered = _loop_node(tracer, program, starts, outputs) if program.is_lowered and outputs else None
    reason = "" if lowered else why_on_host([program])
    prepare: Prepare | None = None
    if (early := _with_early_draws(tracer, name, op, program, starts, outputs)) is not None:
        draws, in_engine = early
        in_parts = _either(draws, in_engine, run, len(starts), len(inputs))
        inputs, run = (*inputs, *draws.sources), lambda arrays: in_parts(arrays)()
        prepare = in_parts if tracer.engine.threads > 1 else None
        reason = "its random numbers are drawn before it; its iterations run in the engine"
    step = Step(name, op, inputs, tuple(outputs), lowered, run, effect, reason, (program,))
    step.prepare = prepare
    tracer.add(step)


def _loop_node(
    tracer: Tracer, program: Program, starts: Operands, outputs: Operands
) -> list[OnnxNode] | None:
    first, *others = starts
    decide = (None, first) if first.dtype == BOOL else (first, Operand(BOOL, value=TRUE))
    node = OnnxNode("Loop", (*decide, *others), tuple(outputs), {"body": program})
    return [node] if tracer.engine.takes(node) else None


def _with_early_draws(
    tracer: Tracer, name: str, op: str, program: Program, starts: Operands, outputs: Operands
) -> tuple[LoopDraws, InnerProgram] | None:
    """The loop in the engine, with random numbers that are drawn before it, if it has a trip count."""
    if starts[0].dtype == BOOL or not outputs:
        return None
    draws = loop_draws(tracer, name, program, starts[1:])
    if draws is None:
        return None
    args = [Operand(start.dtype, start.shape, name=name) for start in starts]
    results = [Operand(output.dtype, output.shape, name=name) for output in outputs]
    nodes = _loop_node(tracer, draws.body, args, results)
    if nodes is None:
        return None
    step = Step(name, op, (*args, *draws.rows), tuple(results), nodes)
    inner = Program([*args, *draws.rows], [step], results)
    return draws, InnerProgram(inner, tracer.engine, captured_by([program]))


def _either(draws: LoopDraws, in_engine: InnerProgram, on_host: Run, carried: int, count: int) -> Prepare:
    """Run the loop in the engine if all draws can be made before it; `count`: inputs of the loop itself."""

    def prepare(inputs: Sequence[Any]) -> Callable[[], Sequence[Any]]:
        rows = draws.drawn(int(inputs[0]), inputs[count:])
        if rows is None:
            return lambda: on_host(inputs[:count])
        return lambda: in_engine.run([*inputs[:carried], *rows], inputs[carried:count])

    return prepare


def _without_asserts(
    tracer: Tracer,
    name: str,
    op: str,
    program: Program,
    starts: Operands,
    outputs: Operands,
    step: tuple[tuple[Operand, ...], Run],
) -> bool:
    """Add the loop to the engine, which ends it where an assertion fails, and an assertion after it."""
    part = lifted(tracer, name, program)
    if part is None:
        return False
    before = Operand(BOOL, (), name=name)
    holds = Operand(BOOL, (), name=name)
    last = len(starts)
    continues, *results = part.program.results
    decided = tracer.program([], lambda: [all_of(tracer, name, [continues, part.holds])])
    body = Program(
        [*program.args, before],
        [*part.program.steps, *decided.steps],
        [*decided.results, *results[: last - 1], part.holds, *results[last - 1 :]],
    )
    all_outputs = [*outputs[: last - 1], holds, *outputs[last - 1 :]]
    nodes = _loop_node(tracer, body, [*starts, Operand(BOOL, value=TRUE)], all_outputs)
    if nodes is None or not body.is_lowered:
        return False
    inputs, run = step
    tracer.add(Step(name, op, inputs, (*outputs, holds), nodes, and_true(run), programs=(body,)))
    add_assert(tracer, name, holds)
    return True


def _run(body: InnerProgram, carried: int, items: Operands, name: str) -> Run:
    """Iterations on the host, while the condition is true or up to a trip count."""

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        first, *current = inputs[:carried]
        captured = inputs[carried:]
        rows: list[list[Any]] = []
        trip_count = int(first) if first.dtype != bool else None
        scope = current_scope()
        usage = LoopUsage(scope, name) if scope is not None else None
        while is_true(first) if trip_count is None else len(rows) < trip_count:
            results = body.run([np.asarray(len(rows), np.int64), first, *current], captured)
            first, *current = results[:carried]
            rows.append(results[carried:])
            if usage is not None:
                usage.iterated(current, rows[-1])
        return [*current, *(_stack([row[k] for row in rows], item) for k, item in enumerate(items))]

    return run


def _stack(rows: Sequence[Any], item: Operand) -> Any:
    if len(rows) == 1 and isinstance(rows[0], np.ndarray):
        return rows[0][np.newaxis]
    if rows:
        return np.stack(rows)
    dtype = object if item.dtype == VARIANT else item.dtype.numpy
    return np.zeros((0, *(size or 0 for size in item.shape or ())), dtype)
