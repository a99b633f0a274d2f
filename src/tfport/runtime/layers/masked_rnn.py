"""Keras recurrent layers with a mask: if all masked steps are at the end, the sequences have lengths.

Whether that is so is decided in each run: then the layer is one node with lengths, otherwise a
loop. A masked step keeps the states, and repeats the output of the step before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64
from tfport.runtime.layers.rnn import Recurrence, as_nodes, before_end, exact_rows
from tfport.runtime.layers.time_loop import TimeLoop, limits_of, smallest
from tfport.runtime.layers.time_rows import rows_read_in_order
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer


@dataclass
class MaskedLayer:
    """A loop that is a recurrent layer if its mask is only padding."""

    loop: TimeLoop
    """The loop without the mask."""
    mask: Operand
    """(time, batch, 1)"""
    kept: list[int]
    """The index of the variable that holds the output of the step before, if there is one."""


def masked_layer(loop: TimeLoop) -> MaskedLayer | None:
    """The masked layer that a loop is, or None."""
    producers = {o: step for step in loop.steps for o in step.outputs if o not in step.inputs}
    selects: dict[int, Step] = {}
    for i in loop.states:
        step = producers.get(loop.results[i])
        if step is None or step.op != "SelectV2" or step.inputs[2] is not loop.args[i]:
            return None
        selects[i] = step
    items = [producers.get(item) for item in loop.outputs]
    all_selects = [*selects.values(), *(step for step in items if step is not None)]
    masks = {step.inputs[0] for step in all_selects}
    kept = [i for i in loop.states if _is_read_only_by(loop, loop.args[i], all_selects)]
    if len(masks) != 1 or len(kept) > 1 or any(s is None or s.op != "SelectV2" for s in items):
        return None
    before = {loop.args[i] for i in kept}
    if any(step is not None and step.inputs[2] not in before for step in items):
        return None
    read = producers.get(masks.pop())
    rows = rows_read_in_order(loop, read) if read is not None else None
    if rows is None or rows.dtype != BOOL or rows.rank != 3 or rows.shape is None or rows.shape[2] != 1:
        return None
    results = list(loop.results)
    for i, step in selects.items():
        results[i] = step.inputs[1]
    rest = [step for step in loop.steps if step is not read]
    states = [i for i in loop.states if i not in kept]
    new_items = [step.inputs[1] for step in items if step is not None]
    if any(results[i] not in [results[s] for s in states] for i in kept):
        return None
    plain = replace(loop, steps=rest, results=results, states=states, outputs=new_items)
    return MaskedLayer(plain, rows, kept)


def _is_read_only_by(loop: TimeLoop, arg: Operand, selects: list[Step]) -> bool:
    return all(any(step is s for s in selects) for step in loop.steps if arg in step.inputs)


def lengths_of(tracer: Tracer, layer: MaskedLayer) -> tuple[Operand, Operand] | None:
    """The length of each sequence, and whether the mask is only padding."""
    limits = limits_of(layer.loop)
    if not limits:
        return None
    name = layer.loop.name
    mask = exact_rows(tracer, name, layer.mask, smallest(tracer, name, limits))
    lengths = emit(
        tracer,
        name,
        "Sum",
        [mask],
        lambda mask: mask[..., 0].sum(0).astype(np.int32),
        (INT32, (None,)),
        lambda b, mask: b.squeeze(b.ReduceSum(b.cast(mask, INT32), b.ints(0), keepdims=0), 1),
    )

    def run(mask: Any, counts: Any) -> Any:
        return np.asarray(np.array_equal(mask[..., 0], np.arange(len(mask))[:, None] < counts))

    def say(b: Any, mask: Operand, counts: Operand) -> Any:
        differ = b.cast(b.Xor(mask, before_end(b, mask, counts)), INT32)
        return b.Equal(b.ReduceSum(differ, b.ints(0, 1, 2), keepdims=0), b.const(0, INT32))

    return lengths, emit(tracer, name, "Equal", [mask, lengths], run, (BOOL, ()), say)


def by_lengths(tracer: Tracer, layer: MaskedLayer, lengths: Operand) -> Recurrence | None:
    """The layers as nodes; masked steps repeat the last unmasked output."""
    node = as_nodes(tracer, layer.loop, lengths)
    if node is None or not layer.kept:
        return node
    (kept,) = layer.kept
    output = next(i for i in node.states if layer.loop.results[i] is layer.loop.results[kept])
    name, first = layer.loop.name, layer.loop.initial[kept]
    last = emit(
        tracer,
        name,
        "SelectV2",
        [lengths, first, node.states[output]],
        lambda n, before, after: np.where(n[:, None] == 0, before, after),
        (FLOAT32, first.shape),
        lambda b, n, before, after: b.Where(
            b.Equal(b.unsqueeze(b.int64(n), 1), b.const(0, INT64)), before, after
        ),
    )

    def run(rows: Any, n: Any, end: Any) -> Any:
        return np.where((np.arange(len(rows))[:, None] < n)[..., None], rows, end[None])

    def say(b: Any, rows: Operand, n: Operand, end: Operand) -> Any:
        return b.Where(before_end(b, rows, n), rows, b.unsqueeze(end, 0))

    shown = [
        emit(tracer, name, "SelectV2", [rows, lengths, last], run, (FLOAT32, rows.shape), say)
        for rows in node.rows
    ]
    return Recurrence(shown, {**node.states, kept: last}, node.iterations)
