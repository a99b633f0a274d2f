"""Run a recurrent cell over the steps of sequences: unrolled for a few steps, else in a loop.

`x` is (time, batch, …), each state (batch, units). With `lengths`, one per sequence or one for
all, a sequence that has ended keeps its states, and its outputs are zero. The rule that calls
`run_cell` defines what the cell computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.fix.nodes.builder import RuleBuilder
from tfport.graph.building.time_loop import over_time
from tfport.graph.graph import Value
from tfport.graph.node_inputs import OperandLike

MOST_UNROLLED = 64
StepResult = tuple[list[Value], list[Value]]
"""The outputs of a step, and its states."""
Cell = Callable[[Value, list[Value]], StepResult]
"""Computes outputs and new states from the input of a step and the previous states."""


def run_cell(
    op: RuleBuilder,
    cell: Cell,
    x: Value,
    states: Sequence[Value],
    *,
    outputs: int = 1,
    steps: int | None = None,
    lengths: Value | None = None,
    layers: int = 1,
) -> StepResult:
    """All outputs, each (time, batch, units), and the final states; `layers` is the number in the graph."""
    zeros = None if lengths is None else op.ZerosLike(states[0])

    def step(index: OperandLike, rows: list[Value], before: list[Value]) -> StepResult:
        shown, after = cell(rows[0], before)
        if lengths is None:
            return shown, after
        live = op.Less(index, lengths)
        return (
            [op.Select(live, output, zeros).output(0) for output in shown],
            [op.Select(live, new, old).output(0) for new, old in zip(after, before, strict=True)],
        )

    if steps is None or not 0 < steps * layers <= MOST_UNROLLED:
        return over_time(op, step, [x], states, outputs, x.dtype.base)
    elements, last = op.Unpack(x, num=steps, axis=0), list(states)
    outputs_by_step: list[list[Value]] = []
    for index in range(steps):
        shown, last = step(index, [elements.output(index)], last)
        outputs_by_step.append(shown)
    return [op.Pack(list(each), axis=0).output(0) for each in zip(*outputs_by_step, strict=True)], last
