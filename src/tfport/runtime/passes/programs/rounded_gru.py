"""GRUs of TensorFlow Lite whose state is rounded to 8-bit steps in each iteration: faster on the host.

The rounding is forty nodes for a few numbers, in each iteration. The same in NumPy takes a quarter of the
time, so such a loop runs on the host. It is lowered all the same, so that the model can be exported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tfport.runtime.failures import naming_node
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_body import Operands, TimeLoop, limits_of
from tfport.runtime.ops.control.loops import iterate
from tfport.runtime.ops.lite.kernels.recurrent import hybrid_input
from tfport.runtime.ops.nn import recurrence
from tfport.runtime.passes.pass_list import loop_pass
from tfport.runtime.passes.programs import rnn_cells as cells
from tfport.runtime.passes.programs.affine import AffineReader
from tfport.runtime.passes.programs.recurrent_layers import may_have_cells
from tfport.runtime.passes.programs.rnn_node import host_weights
from tfport.runtime.passes.programs.time_rows import TimeRows
from tfport.runtime.program import Program, Step
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class HybridGru:
    """A loop that is a GRU with a rounded state."""

    rows: Operand
    """What it reads, (time, batch, inputs)."""
    state: int
    """Its state among the loop variables."""
    run: Callable[[Any, Any], Sequence[Any]]
    """All outputs and the last state, from the rows and the first state."""


@loop_pass
def rounded_gru(tracer: Tracer, loop: TimeLoop) -> Operands | None:
    """A GRU of TensorFlow Lite with a rounded state runs on the host."""
    gru = _hybrid_gru(loop) if may_have_cells(loop) else None
    if gru is None:
        return None
    program = tracer.program([], lambda: iterate(tracer, loop))
    return _run_on_host(tracer, loop.name, gru, loop.initial[gru.state], program, list(loop.changes))


def _hybrid_gru(loop: TimeLoop) -> HybridGru | None:
    """The GRU that a loop is, or None."""
    counts = [limit.array for limit in limits_of(loop)]
    if len(loop.states) != 1 or len(counts) != 1:
        return None
    (state,) = loop.states
    now, new = loop.args[state], loop.results[state]
    rounding = next(
        (s for s in loop.program.readers(now) if s.op == "LiteHybridInput" and s.inputs[0] is now), None
    )
    if rounding is None or any(item is not new for item in loop.outputs):
        return None
    (rounded,), rows = rounding.outputs, TimeRows(loop)
    cell = cells.gru(AffineReader(loop.program, {*rows.reads, rounded}), now, new, rounded)
    if cell is None or not cell.reset_after or cell.x not in rows.reads:
        return None
    tensor = rows.reads[cell.x]
    if counts[0] is None or tensor.shape is None or tensor.shape[0] != int(counts[0]):
        return None
    w, r, wb, rb = host_weights(cell)
    round_state = functools.partial(hybrid_input, **rounding.attrs)

    def run(x: Any, h: Any) -> Sequence[Any]:
        return recurrence.gru(x, h, w, r, wb, rb, None, cell.activations, round_state)

    return HybridGru(tensor, state, run)


def _run_on_host(
    tracer: Tracer, name: str, gru: HybridGru, first: Operand, program: Program, written: Sequence[int]
) -> Operands:
    """Add a step for the program of a loop, which returns its variables; `written` are those with outputs."""
    steps, results = program.steps, program.results
    if not all(step.lowered for step in steps):
        for step in steps:
            tracer.add(step)
        return results
    sizes = {i: results[i].shape for i in written}
    is_last = [sizes[i] is not None and sizes[i][0] == 1 for i in written]  # type: ignore[index]

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs, last = gru.run(*inputs)
        return [*(outputs[-1:] if only_last else outputs for only_last in is_last), last]

    outputs = (*(results[i] for i in written), results[gru.state])
    nodes = [node for step in steps for node in step.lowered or ()]
    named = naming_node(run, name, "GRU")
    why = "rounding its state takes many nodes of the engine"
    tracer.add(Step(name, "GRU", (gru.rows, first), outputs, nodes, named, why=why, is_faster_on_host=True))
    return results
