"""Keras recurrent layers with a mask: one node over the steps that are not masked.

A masked step keeps the states, so a sequence has the states of its other steps alone. These are moved to
the front, the node runs with their number as the length, and its outputs are moved back. A masked step
shows the output of the step before, or zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_body import Operands, TimeLoop, limits_of, smallest
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.passes.pass_list import loop_pass
from tfport.runtime.passes.programs.recurrent_layers import (
    Recurrence,
    after_layer,
    as_nodes,
    exact_rows,
    is_explained,
    may_have_cells,
    zeros_of,
)
from tfport.runtime.passes.programs.time_rows import rows_read_in_order
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass, replace

SELECTS = ("Select", "SelectV2")


@dataclass(frozen=True)
class _Shown:
    """What a loop shows in each step: new values, and something else in masked steps."""

    new: Operand
    before: Operand | None
    """The value before the first step, which masked steps repeat; None if they show zeros."""


@dataclass(frozen=True)
class MaskedLayer:
    """A loop that is a recurrent layer, apart from its mask."""

    loop: TimeLoop
    """The loop without the mask; its outputs are the new values of `outputs` and `variables`."""
    mask: Operand
    """(time, batch), or (time, batch, 1)"""
    outputs: Sequence[_Shown]
    variables: Mapping[int, _Shown]
    """The loop variables that hold what the step before showed."""


@loop_pass
def masked_layers(tracer: Tracer, loop: TimeLoop) -> Operands | None:
    """A recurrent layer with a mask is one node over the steps that are not masked."""
    masked = _masked_layer(tracer, loop) if may_have_cells(loop) else None
    layer = None if masked is None else _unmasked_layer(tracer, masked)
    return None if layer is None else after_layer(tracer, loop, layer)


def _masked_layer(tracer: Tracer, loop: TimeLoop) -> MaskedLayer | None:
    """The masked layer that a loop is, or None."""
    is_zero, producer = zeros_of(tracer), loop.program.producer
    selects = {i: step for i in loop.states if (step := producer(loop.results[i], *SELECTS)) is not None}
    items = [step for item in loop.outputs if (step := producer(item, *SELECTS)) is not None]
    steps = [*selects.values(), *items]
    if not steps or len(steps) < len(loop.states) + len(loop.outputs):
        return None
    variables, states = dict[int, _Shown](), list[int]()
    for i, step in selects.items():
        if _is_read_only_by(loop, loop.args[i], steps):
            shown = _shown(loop, step, {loop.args[i]: loop.initial[i]}, is_zero)
            if shown is None:
                return None
            variables[i] = shown
        elif step.inputs[2] is loop.args[i]:
            states.append(i)
        else:
            return None
    before = {loop.args[i]: loop.initial[i] for i in loop.states}
    outputs = [shown for step in items if (shown := _shown(loop, step, before, is_zero))]
    mask = _mask(loop, {step.inputs[0] for step in steps})
    if mask is None or len(outputs) < len(items):
        return None
    results = list(loop.results)
    for i, step in selects.items():
        results[i] = step.inputs[1]
    new = [shown.new for shown in (*outputs, *variables.values())]
    return MaskedLayer(replace(loop, results=results, states=states, outputs=new), mask, outputs, variables)


def _is_read_only_by(loop: TimeLoop, arg: Operand, selects: list[Step]) -> bool:
    """Whether only selections read a variable, and none of them as a new value."""
    return all(
        any(step is s for s in selects) and arg not in step.inputs[:2] for step in loop.program.readers(arg)
    )


def _shown(
    loop: TimeLoop,
    step: Step,
    before: Mapping[Operand, Operand],
    is_zero: Callable[[Operand], bool],
) -> _Shown | None:
    """What a selection shows; `before` are the values that it may repeat, with the first of each."""
    _, new, other = step.inputs
    if other in before:
        # what is repeated must be what the same selection, or one like it, showed in the step before
        index = next(i for i, arg in enumerate(loop.args) if arg is other)
        previous = loop.program.producer(loop.results[index], *SELECTS)
        same = previous is not None and previous.inputs[1:] == step.inputs[1:]
        return _Shown(new, before[other]) if same else None
    return _Shown(new, None) if is_zero(other) else None


def _mask(loop: TimeLoop, conditions: set[Operand]) -> Operand | None:
    """The mask of all steps, if the loop reads it in order."""
    read = loop.program.producer(conditions.pop()) if len(conditions) == 1 else None
    rows = rows_read_in_order(loop, read) if read is not None else None
    if rows is None or rows.dtype != BOOL or rows.shape is None:
        return None
    return rows if len(rows.shape) == 2 or (len(rows.shape) == 3 and rows.shape[2] == 1) else None


def _unmasked_layer(tracer: Tracer, layer: MaskedLayer) -> Recurrence | None:
    """The layer as nodes over the steps that are not masked; None if it is another loop."""
    loop = layer.loop
    if not is_explained(loop):
        return None
    mask = exact_rows(tracer, loop.name, layer.mask, smallest(tracer, loop.name, limits_of(loop)))
    steps = _UnmaskedSteps(tracer, loop.name, mask)
    node = as_nodes(tracer, loop, steps.lengths, steps.in_front)
    if node is None:
        return None
    shown = [*layer.outputs, *layer.variables.values()]
    rows = [steps.back(tensor, s.before) for tensor, s in zip(node.rows, shown, strict=True)]
    count = len(layer.outputs)
    last = {i: steps.last(tensor) for i, tensor in zip(layer.variables, rows[count:], strict=True)}
    return Recurrence(rows[:count], {**node.states, **last}, node.iterations)


class _UnmaskedSteps:
    """Where the steps that are not masked are in each sequence."""

    def __init__(self, tracer: Tracer, name: str, mask: Operand) -> None:
        self.tracer, self.name = tracer, name
        self.mask = mask if mask.rank == 2 else self._emit(
            "Squeeze", [mask], lambda m: m[..., 0], (BOOL, mask.shape and mask.shape[:2]),
            lambda b, m: b.squeeze(m, 2),
        )  # fmt: skip
        shape = self.mask.shape
        self.lengths = self._emit(
            "Sum", [self.mask], lambda m: m.sum(0).astype(np.int32), (INT32, shape and shape[1:]),
            lambda b, m: b.ReduceSum(b.cast(m, INT32), b.ints(0), keepdims=0),
        )  # fmt: skip
        self.order = self._emit(
            "TopKV2", [self.mask], lambda m: np.argsort(~m, axis=0, kind="stable"), (INT64, shape), _order
        )
        """The steps of each sequence, those that are not masked first."""
        self.latest = self._emit(
            "Cumsum", [self.mask], lambda m: np.cumsum(m, axis=0) - 1, (INT64, shape),
            lambda b, m: b.Sub(b.CumSum(b.int64(m), b.const(0, INT64)), b.const(1, INT64)),
        )  # fmt: skip
        """For each step, the number of the last one up to it that is not masked; -1 if there is none."""

    def _emit(self, op: str, inputs: list[Operand], run: Any, out: Any, say: Any) -> Operand:
        return emit(self.tracer, self.name, op, inputs, run, out, say)

    def in_front(self, rows: Operand) -> Operand:
        """Rows with the steps that are not masked first."""
        return self._emit("GatherNd", [rows, self.order], _taken, (rows.dtype, rows.shape), _take)

    def back(self, rows: Operand, before: Operand | None) -> Operand:
        """The rows of `in_front` at their own steps; masked steps repeat the row before, or are zeros."""

        def run(rows: Any, latest: Any, mask: Any, *before: Any) -> Any:
            taken = _taken(rows, np.maximum(latest, 0))
            if before:
                return np.where(latest[..., None] < 0, before[0], taken)
            return np.where(mask[..., None], taken, np.float32(0))

        def say(b: Any, rows: Operand, latest: Operand, mask: Operand, *before: Operand) -> Any:
            taken = _take(b, rows, b.Max(latest, b.const(0, INT64)))
            if before:
                return b.Where(b.unsqueeze(b.Less(latest, b.const(0, INT64)), 2), before[0], taken)
            return b.Where(b.unsqueeze(mask, 2), taken, b.const(0, FLOAT32))

        inputs = [rows, self.latest, self.mask, *([] if before is None else [before])]
        return self._emit("SelectV2", inputs, run, (FLOAT32, rows.shape), say)

    def last(self, rows: Operand) -> Operand:
        """The last row."""
        shape = None if rows.shape is None else rows.shape[1:]
        return self._emit(
            "StridedSlice", [rows], lambda r: r[-1], (FLOAT32, shape),
            lambda b, r: b.Gather(r, b.const(-1, INT64), axis=0),
        )  # fmt: skip


def _order(b: Any, mask: Operand) -> Any:
    """A sort by step in which masked steps come after all others."""
    count = b.Shape(mask, start=0, end=1)
    time = b.Range(b.const(0, INT64), b.squeeze(count, 0), b.const(1, INT64))
    later = b.Where(mask, b.const(0, INT64), count)
    key = b.Add(b.unsqueeze(time, 1), later)
    return b.nodes("TopK", key, count, outputs=2, axis=0, largest=0, sorted=1)[1]


def _taken(rows: Any, steps: Any) -> Any:
    return np.take_along_axis(rows, steps[..., None], axis=0)


def _take(b: Any, rows: Operand, steps: Operand) -> Any:
    """The row of each sequence at each of the steps: a gather of (time * batch) rows."""
    batch = b.Shape(rows, start=1, end=2)
    sequence = b.Range(b.const(0, INT64), b.squeeze(batch, 0), b.const(1, INT64))
    flat = b.Reshape(rows, b.Concat(b.ints(-1), b.Shape(rows, start=2, end=3), axis=0))
    taken = b.Gather(flat, b.Add(b.Mul(steps, batch), sequence), axis=0)
    if rows.shape is not None:
        taken.shape = rows.shape
    return taken
