"""A loop in which boxes suppress each other, as a loop over those that are left: `self_suppression`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfport.runtime.layers.self_suppression import SelfSuppression
from tfport.runtime.layers.suppressing_rows import SuppressingRows
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_body import Loop, Operands
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.trace import Tracer


def suppressed(
    tracer: Tracer,
    loop: Loop,
    suppression: SelfSuppression,
    counters: Iterable[int],
    trace_loop: Callable[[Tracer, Loop], Operands],
) -> Operands:
    """The values of the loop variables after the loop."""
    rows = SuppressingRows(tracer, loop.name, loop.initial[suppression.overlaps], suppression.threshold)
    counted = list(counters)

    def body(variables: Operands) -> Operands:
        before, _, *counts = variables
        after = rows.next_rows(before)
        return [after, rows.goes_on(before, after), *(_plus_one(tracer, loop.name, n) for n in counts)]

    initial = [rows.all_rows(), loop.initial[suppression.goes_on], *(loop.initial[i] for i in counted)]
    nothing, never = [None] * len(initial), [False] * len(initial)
    left, goes_on, *ends = trace_loop(
        tracer, Loop(loop.name, loop.op, initial, lambda variables: variables[1], body, nothing, never)
    )
    results = list(loop.initial)
    for i, end in zip(counted, ends, strict=True):
        results[i] = end
    results[suppression.overlaps] = rows.matrix_of(left)
    results[suppression.goes_on] = goes_on
    results[suppression.total] = rows.total_of(results[suppression.overlaps])
    return results


def _plus_one(tracer: Tracer, name: str, count: Operand) -> Operand:
    return emit(
        tracer, name, "AddV2", [count], lambda n: n + n.dtype.type(1), (count.dtype, ()),
        lambda b, n: b.Add(n, b.const(1, count.dtype)),
    )  # fmt: skip
