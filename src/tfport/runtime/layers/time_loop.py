"""A loop as far as it matters to those who recognise it, and sequences that end before it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer


@dataclass
class TimeLoop:
    """A loop as far as it matters here; places are among its variables."""

    name: str
    steps: Sequence[Step]
    args: Sequence[Operand]
    results: Sequence[Operand]
    initial: Sequence[Operand]
    condition: Operand
    """What decides after a turn whether there is another."""
    states: Sequence[int]
    """The places of what is carried and no counter."""
    counters: Mapping[int, int]
    """The places of what grows by one, and where that starts."""
    handed_out: Sequence[Operand]

    def varies(self, operand: Operand) -> bool:
        """Whether it is another in each turn."""
        return any(operand is a and a is not i for a, i in zip(self.args, self.initial, strict=True)) or any(
            operand in step.outputs and operand not in step.inputs for step in self.steps
        )


def without_lengths(turns: TimeLoop, is_zero: Callable[[Operand], bool]) -> tuple[TimeLoop, Operand] | None:
    """The loop as if all sequences were as long as it, and how long they are.

    TF1 keeps the state of a sequence from its end on, `Select(time >= lengths, old, new)`, and
    hands out zeros for it. All states and outputs must be so.
    """
    made = {output: step for step in turns.steps for output in step.outputs}
    results, masks = list(turns.results), list[Operand]()
    for i in turns.states:
        step = made.get(results[i])
        if step is None or step.op != "Select" or step.inputs[1] is not turns.args[i]:
            return None
        masks.append(step.inputs[0])
        results[i] = step.inputs[2]
    items = []
    for item in turns.handed_out:
        step = made.get(item)
        if step is None or step.op != "Select" or not is_zero(step.inputs[1]):
            return None
        masks.append(step.inputs[0])
        items.append(step.inputs[2])
    lengths = _lengths(turns, made.get(masks[0])) if len(set(masks)) == 1 else None
    if lengths is None:
        return None
    return replace(turns, results=results, handed_out=items), lengths


def _lengths(turns: TimeLoop, step: Step | None) -> Operand | None:
    """The lengths in `time >= lengths`, where time is counted from zero."""
    if step is None or step.op != "GreaterEqual":
        return None
    time, lengths = step.inputs
    counter = next((i for i, arg in enumerate(turns.args) if arg is time), None)
    if counter is None or turns.counters.get(counter) != 0 or lengths.rank != 1 or turns.varies(lengths):
        return None
    return lengths


def limits_of(turns: TimeLoop) -> list[Operand]:
    """Up to where counters that start at zero are counted; nothing where something else decides, too."""
    made = {output: step for step in turns.steps for output in step.outputs}
    pending, limits = [turns.condition], list[Operand]()
    while pending:
        step = made.get(pending.pop())
        if step is None:
            return []
        if step.op == "LogicalAnd":
            pending += step.inputs
            continue
        counter = next((i for i, r in enumerate(turns.results) if r is step.inputs[0]), None)
        if step.op != "Less" or counter is None or turns.counters.get(counter) != 0:
            return []
        if turns.varies(step.inputs[1]):
            return []
        if not any(same_number(step.inputs[1], other) for other in limits):
            limits.append(step.inputs[1])
    return limits


def smallest(tracer: Tracer, name: str, limits: list[Operand]) -> Operand:
    first, *others = limits
    for other in others:
        out = (first.dtype, ())
        first = emit(tracer, name, "Minimum", [first, other], np.minimum, out, lambda b, m, n: b.Min(m, n))
    return first


def same_number(a: Operand, b: Operand) -> bool:
    """Whether two scalars are always the same."""
    if a is b:
        return True
    return (
        a.array is not None
        and b.array is not None
        and a.array.size == b.array.size == 1
        and a.array == b.array
    )
