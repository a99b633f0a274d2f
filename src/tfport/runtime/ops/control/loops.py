"""A loop as one step: a condition, then turns of a body, each with the condition for the next.

A loop that only counts up to a limit needs no condition: it has so many turns. A list that
gains one element in each turn is not carried from turn to turn: its elements are handed out, and
stacked behind the loop (`loop_lists`). A loop that turns a recurrent cell is one node
(`recognise.recurrent`). Any other is a `Loop` of ONNX where its body can be said in it;
otherwise turns run on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.graph.dtypes import BOOL, FLOAT32, INT64
from tfport.runtime.layers.masked_rnn import by_lengths, lengths_of, masked_layer
from tfport.runtime.layers.rnn import Recurrence, recognized_layer
from tfport.runtime.layers.time_loop import TimeLoop, limits_of, same_number, smallest
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.branches import choose
from tfport.runtime.ops.control.list_facts import Change, ListFacts
from tfport.runtime.ops.control.loop_body import Body, Loop, Operands, counts_from, settled, walked
from tfport.runtime.ops.control.loop_lists import handed_out, list_behind
from tfport.runtime.ops.control.structure_steps import (
    InnerProgram,
    captured_by,
    has_effect,
    is_true,
    touched_by,
    truth,
)
from tfport.runtime.ops.control.traced_lists import counted, list_of
from tfport.runtime.program import OnnxNode, Program, Run, Step, needed
from tfport.runtime.trace import Tracer

__all__ = ["Loop", "trace_loop"]


def trace_loop(tracer: Tracer, loop: Loop) -> Operands:
    """What the variables of a loop are behind it."""
    first = truth(tracer, loop.name, loop.condition(list(loop.initial)))
    if first.array is not None and not is_true(first.array):
        return loop.initial
    walk = fixed, _, body = settled(tracer, loop)
    carried = [i for i in range(len(loop.initial)) if i not in fixed]
    changes = {i: c for i in carried if (c := handed_out(tracer, loop, body, i)) is not None}
    turns = _turns(loop, body, carried, changes)
    if all(loop.initial[i].dtype == FLOAT32 for i in turns.states) and not has_effect([body.program]):
        found = recognized_layer(tracer, turns)
        if found is not None:
            return _behind(tracer, loop, found, turns, changes)
        answers = _unless_padded(tracer, loop, turns, changes, lambda: _in_turns(tracer, loop, first, *walk))
        if answers is not None:
            return answers
    return _in_turns(tracer, loop, first, *walk)


def _in_turns(
    tracer: Tracer, loop: Loop, first: Operand, fixed: set[int], shapes: Sequence[Dims | None], body: Body
) -> Operands:
    """The loop turn by turn; so many turns where it only counts, or until its condition is false."""
    carried = [i for i in range(len(loop.initial)) if i not in fixed]
    changes = {i: c for i in carried if (c := handed_out(tracer, loop, body, i)) is not None}
    turns = _turns(loop, body, carried, changes)
    turn = Operand(INT64, (), name=loop.name)
    limits = limits_of(turns)
    numbered = walked(tracer, loop, fixed, shapes, turn, turns.counters) if limits else body
    answers, counters = list(loop.initial), dict[int, int]()
    if limits and _effects(numbered) == _effects(body):
        body, counters = numbered, dict(turns.counters)
        count = smallest(tracer, loop.name, limits)
        first = counted(tracer, loop.name, 0, count, INT64)
        changes = {i: c for i in carried if (c := handed_out(tracer, loop, body, i)) is not None}
        for i, start in counters.items():
            answers[i] = counted(tracer, loop.name, start, count, loop.initial[i].dtype)
    kept = [i for i in carried if i not in counters]
    _trace_turns(tracer, loop, body, turn, first, kept, changes, shapes, answers)
    return answers


def _unless_padded(
    tracer: Tracer,
    loop: Loop,
    turns: TimeLoop,
    changes: Mapping[int, Change],
    in_turns: Callable[[], Operands],
) -> Operands | None:
    """A recurrent layer with a mask: one node where the mask is padding, and turns where it is not."""
    found = masked_layer(turns)
    told = lengths_of(tracer, found) if found is not None else None
    if found is None or told is None or by_lengths(tracer, found, told[0]) is None:
        return None
    lengths, padded = told

    def flat(answers: Operands) -> Operands | None:
        rows = [tracer.lists[answers[i]].stacked if answers[i] in tracer.lists else None for i in changes]
        full = [row for row in rows if row is not None]
        return [*(answers[i] for i in turns.states), *full] if len(full) == len(rows) else None

    def with_lengths() -> Operands:
        node = by_lengths(tracer, found, lengths)
        assert node is not None
        made = flat(_behind(tracer, loop, node, turns, changes))
        assert made is not None
        return made

    def turned() -> Operands:
        made = flat(in_turns())
        if made is None:
            raise CannotRun("a list of a recurrent layer is read inside it")
        return made

    chosen = choose(tracer, loop.name, "If", padded, with_lengths, turned)
    answers = list(loop.initial)
    for i, answer in zip(turns.states, chosen, strict=False):
        answers[i] = answer
    limit = smallest(tracer, loop.name, limits_of(turns))
    for i, start in turns.counters.items():
        answers[i] = counted(tracer, loop.name, start, limit, loop.initial[i].dtype)
    for i, rows in zip(changes, chosen[len(turns.states) :], strict=True):
        full = replace(tracer.lists[loop.initial[i]], stacked=rows, head=None, size=None, change=None)
        answers[i] = list_of(tracer, loop.name, full)
    return answers


def _effects(body: Body) -> int:
    return sum(step.effect for step in body.program.steps)


def _trace_turns(
    tracer: Tracer,
    loop: Loop,
    body: Body,
    turn: Operand,
    first: Operand,
    carried: Sequence[int],
    changes: dict[int, Change],
    shapes: Sequence[Dims | None],
    answers: Operands,
) -> None:
    """The step of the loop; `first` is its first condition, or how many turns it has."""
    kept, results, steps = _parts(body, carried, changes)
    before = Operand(BOOL, (), name=loop.name)
    program = Program([turn, before, *(body.args[i] for i in kept)], steps, results)
    outputs = [Operand(loop.initial[i].dtype, shapes[i], name=loop.name) for i in kept]
    outputs += [_rows(change.item, loop.name) for change in changes.values()]
    if outputs or has_effect([program]):
        _add(tracer, loop, program, [first, *(loop.initial[i] for i in kept)], outputs)
    for i, output in zip((*kept, *changes), outputs, strict=True):
        facts = tracer.lists.get(loop.initial[i])
        if facts is None:
            answers[i] = output
        elif i in changes:
            answers[i] = list_behind(tracer, loop.name, facts, changes[i], output)
        else:
            tracer.lists[output] = ListFacts(facts.element, facts.shape)
            answers[i] = output


def _parts(
    body: Body, carried: Sequence[int], changes: dict[int, Change]
) -> tuple[list[int], Operands, list[Step]]:
    """What is carried, what a turn answers, and its steps; a list that is read is carried after all."""
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


def _turns(loop: Loop, body: Body, carried: Sequence[int], changes: Mapping[int, Change]) -> TimeLoop:
    counters = {i: start for i in carried if (start := counts_from(loop, body, i)) is not None}
    return TimeLoop(
        loop.name,
        body.program.steps,
        body.args,
        body.results,
        loop.initial,
        body.program.results[0],
        [i for i in carried if i not in counters and i not in changes],
        counters,
        [change.item for change in changes.values()],
    )


def _behind(
    tracer: Tracer, loop: Loop, found: Recurrence, turns: TimeLoop, changes: Mapping[int, Change]
) -> Operands:
    """What the variables are behind a loop that is one node."""
    answers = list(loop.initial)
    for i, output in found.states.items():
        answers[i] = output
    for i, start in turns.counters.items():
        answers[i] = counted(tracer, loop.name, start, found.iterations, loop.initial[i].dtype)
    for i, change in changes.items():
        facts = tracer.lists[loop.initial[i]]
        if facts.size is not None and not facts.head and same_number(facts.size, found.iterations):
            full = replace(facts, stacked=found.rows, head=None, size=None, change=None)
            answers[i] = list_of(tracer, loop.name, full)
        else:
            answers[i] = list_behind(tracer, loop.name, facts, change, found.rows)
    return answers


def _rows(item: Operand, name: str) -> Operand:
    return Operand(item.dtype, None if item.shape is None else (None, *item.shape), name=name)


def _add(tracer: Tracer, loop: Loop, program: Program, starts: Operands, outputs: Operands) -> None:
    captured = captured_by([program])
    lowered = None
    if program.is_lowered and outputs:
        first, *others = starts
        decide = (None, first) if first.dtype == BOOL else (first, Operand(BOOL, value=np.array(True)))
        node = OnnxNode("Loop", (*decide, *others), tuple(outputs), {"body": program})
        lowered = [node] if tracer.engine.takes(node) else None
    inputs = (*starts, *captured, *touched_by([program]))
    run = _run(InnerProgram(program, tracer.engine, captured), len(starts), program.results[len(starts) :])
    why = "" if lowered else "the body is not said in ONNX"
    effect = has_effect([program])
    tracer.add(Step(loop.name, loop.op, inputs, tuple(outputs), lowered, run, effect, why, (program,)))


def _run(body: InnerProgram, carried: int, items: Operands) -> Run:
    """Turns on the host, as long as the condition is true, or as many as a number says."""

    def run(given: Sequence[Any]) -> Sequence[Any]:
        first, *current = given[:carried]
        captured = given[carried:]
        rows: list[list[Any]] = []
        least = int(first) if first.dtype != bool else None
        while is_true(first) if least is None else len(rows) < least:
            answers = body.run([np.asarray(len(rows), np.int64), first, *current], captured)
            first, *current = answers[:carried]
            rows.append(answers[carried:])
        return [*current, *(_stack([row[k] for row in rows], item) for k, item in enumerate(items))]

    return run


def _stack(rows: Sequence[Any], item: Operand) -> Any:
    if rows:
        return np.stack(rows)
    return np.zeros((0, *(size or 0 for size in item.shape or ())), item.dtype.numpy)
