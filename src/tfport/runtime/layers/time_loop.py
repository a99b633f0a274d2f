"""A loop over time as layers are recognized in it, and sequences that are shorter than the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass, replace


@dataclass
class TimeLoop:
    """What is known about a loop; integers are indices of its variables."""

    name: str
    steps: Sequence[Step]
    args: Sequence[Operand]
    results: Sequence[Operand]
    initial: Sequence[Operand]
    condition: Operand
    """Whether there is another iteration."""
    states: Sequence[int]
    """The variables that are carried and are not counters."""
    counters: Mapping[int, int]
    """The variables that grow by one, and their initial values."""
    outputs: Sequence[Operand]
    """What each iteration appends to lists."""

    def varies(self, operand: Operand) -> bool:
        """Whether an operand changes between iterations."""
        return any(operand is a and a is not i for a, i in zip(self.args, self.initial, strict=True)) or any(
            operand in step.outputs and operand not in step.inputs for step in self.steps
        )


def without_lengths(loop: TimeLoop, is_zero: Callable[[Operand], bool]) -> tuple[TimeLoop, Operand] | None:
    """The loop without the selection by sequence length, and the lengths.

    After the end of a sequence TF1 keeps its state, `Select(time >= lengths, old, new)`, and its
    outputs are zeros. All states and outputs must have this form.
    """
    producers = {output: step for step in loop.steps for output in step.outputs}
    results, masks = list(loop.results), list[Operand]()
    for i in loop.states:
        step = producers.get(results[i])
        if step is None or step.op != "Select" or step.inputs[1] is not loop.args[i]:
            return None
        masks.append(step.inputs[0])
        results[i] = step.inputs[2]
    items = []
    for item in loop.outputs:
        step = producers.get(item)
        if step is None or step.op != "Select" or not is_zero(step.inputs[1]):
            return None
        masks.append(step.inputs[0])
        items.append(step.inputs[2])
    # older releases compare the time with the lengths once per state
    lengths = {_lengths(loop, producers.get(mask)) for mask in masks}
    (same,) = lengths if len(lengths) == 1 else (None,)
    return (replace(loop, results=results, outputs=items), same) if same is not None else None


def _lengths(loop: TimeLoop, step: Step | None) -> Operand | None:
    """The lengths in `time >= lengths`, if time is a counter from zero."""
    if step is None or step.op != "GreaterEqual":
        return None
    time, lengths = step.inputs
    counter = next((i for i, arg in enumerate(loop.args) if arg is time), None)
    if counter is None or loop.counters.get(counter) != 0 or lengths.rank != 1 or loop.varies(lengths):
        return None
    return lengths


def limits_of(loop: TimeLoop) -> list[Operand]:
    """The limits of counters that start at zero; none if the condition depends on anything else."""
    producers = {output: step for step in loop.steps for output in step.outputs}
    pending, limits = [loop.condition], list[Operand]()
    while pending:
        step = producers.get(pending.pop())
        if step is None:
            return []
        if step.op == "LogicalAnd":
            pending += step.inputs
            continue
        if step.op == "Reshape" and step.inputs[0].rank == 0:  # of a condition in TensorFlow Lite
            pending.append(step.inputs[0])
            continue
        counter = next((i for i, r in enumerate(loop.results) if r is step.inputs[0]), None)
        if step.op != "Less" or counter is None or loop.counters.get(counter) != 0:
            return []
        if loop.varies(step.inputs[1]):
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
    """Whether two scalars are always equal."""
    if a is b:
        return True
    return (
        a.array is not None
        and b.array is not None
        and a.array.size == b.array.size == 1
        and a.array == b.array
    )
