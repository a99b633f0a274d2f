"""Replace a loop over time with a known cell by one LSTM, GRU or RNN node of ONNX.

All of the loop must be explained: it counts from zero to the number of rows, reads one row per
iteration, its states are those of the cell, and its outputs are those of the cell. Anything else
stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.runtime.layers import rnn_cells as cells
from tfport.runtime.layers.affine import AffineReader
from tfport.runtime.layers.rnn_cells import RnnCell
from tfport.runtime.layers.time_loop import TimeLoop, limits_of, smallest, without_lengths
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.nn import recurrence
from tfport.runtime.ops.nn.empty_batches import refuse_empty_batch
from tfport.runtime.ops.shared.sigmoid import sigmoid
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer

_HOST_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
"""The indices of the gates of `ops.nn.recurrence` (i, f, c, o; r, z, n) in ONNX's order."""


@dataclass
class Recurrence:
    """The outputs of the node: of all iterations, and the states after the last."""

    rows: Operand
    """(time, batch, units)"""
    states: dict[int, Operand]
    iterations: Operand
    """The number of iterations."""


def recognized_layer(tracer: Tracer, loop: TimeLoop) -> Recurrence | None:
    """The loop as one node, or None if it is not a recurrent layer."""
    whole = without_lengths(loop, _is_zero(tracer))
    return as_node(tracer, *whole) if whole is not None else as_node(tracer, loop, None)


def as_node(tracer: Tracer, loop: TimeLoop, lengths: Operand | None) -> Recurrence | None:
    """The node of a loop; `lengths`: those of the sequences, if they are shorter than the loop."""
    if not loop.states or len(loop.states) > 2:
        return None
    limits, read = limits_of(loop), _rows(loop)
    if not limits or read is None:
        return None
    rows, x = read
    if rows.dtype != FLOAT32 or rows.rank != 3 or any(loop.args[i].rank != 2 for i in loop.states):
        return None
    match = _cell(loop, x)
    if match is None:
        return None
    cell, indices = match
    if any(item is not loop.results[indices[0]] for item in loop.outputs):
        return None
    limit = smallest(tracer, loop.name, limits)
    rows = exact_rows(tracer, loop.name, rows, limit)
    if lengths is not None:
        lengths = _within(tracer, loop.name, lengths, rows)
    return _node(tracer, loop, cell, indices, rows, limit, lengths)


def _cell(loop: TimeLoop, x: Operand) -> tuple[RnnCell, list[int]] | None:
    """The cell, and the indices of its states among the loop variables, the output first."""
    states = list(loop.states)
    for indices in (states, states[::-1]):
        h = indices[0]
        reader = AffineReader(list(loop.steps), {x, loop.args[h]})
        now, new = [loop.args[i] for i in indices], [loop.results[i] for i in indices]
        if len(indices) == 2:
            cell = cells.lstm(reader, x, now[0], now[1], new[0], new[1])
        else:
            cell = cells.gru(reader, x, now[0], new[0]) or cells.plain(reader, x, now[0], new[0])
        if cell is not None:
            return cell, indices
    return None


def _rows(loop: TimeLoop) -> tuple[Operand, Operand] | None:
    """The tensor of which each iteration reads a row, and that row."""
    reads = [step for step in loop.steps if step.op == "TensorListGetItem"]
    rows = rows_read_in_order(loop, reads[0]) if len(reads) == 1 else None
    return (rows, reads[0].outputs[0]) if rows is not None else None


def rows_read_in_order(loop: TimeLoop, step: Step) -> Operand | None:
    """The tensor whose rows a step reads in order from the first, or None."""
    if step.op != "TensorListGetItem" or len(step.inputs) != 2:
        return None
    rows, index = step.inputs
    counter = next((i for i, arg in enumerate(loop.args) if arg is index), None)
    if counter is None or loop.counters.get(counter) != 0 or loop.varies(rows):
        return None
    return rows


def exact_rows(tracer: Tracer, name: str, rows: Operand, limit: Operand) -> Operand:
    """The rows that the loop reads; too few rows are an error."""
    assert rows.shape is not None
    if limit.array is not None and rows.shape[0] == int(limit.array):
        return rows
    if is_size_of(tracer, limit, rows):
        return rows

    def run(tensor: Any, count: Any) -> Any:
        return np.take(tensor, np.arange(int(count)), axis=0)

    def say(b: Any, tensor: Operand, count: Operand) -> Operand:
        # Slice accepts an end beyond the size, Gather does not: it makes too few rows an error
        most = b.Max(b.vector(count), b.ints(0))
        size = b.Add(b.Shape(tensor, start=0, end=1), b.ints(1))
        zeros = b.nodes("ConstantOfShape", size, dtype=INT64, value=np.zeros(1, np.int64))[0]
        end = b.Add(most, b.Gather(zeros, most, axis=0))
        out: Operand = b.Slice(tensor, b.ints(0), end, b.ints(0))
        out.shape = (None, *rows.shape[1:]) if rows.shape else None
        return out

    return emit(tracer, name, "GatherV2", [rows, limit], run, (rows.dtype, (None, *rows.shape[1:])), say)


def _is_zero(tracer: Tracer) -> Callable[[Operand], bool]:
    def is_zero(operand: Operand) -> bool:
        if operand.array is not None:
            return not operand.array.any()
        step = next((s for s in tracer.steps if operand in s.outputs), None)
        if step is None or step.op not in ("Fill", "ZerosLike"):
            return False
        return step.op == "ZerosLike" or (step.inputs[1].array is not None and not step.inputs[1].array.any())

    return is_zero


def _within(tracer: Tracer, name: str, lengths: Operand, rows: Operand) -> Operand:
    """Lengths as the engine takes them, int32 and no longer than the rows."""

    def run(counts: Any, tensor: Any) -> Any:
        return np.clip(counts, 0, len(tensor)).astype(np.int32)

    def say(b: Any, counts: Operand, tensor: Operand) -> Operand:
        most = b.Min(b.int64(counts), b.Shape(tensor, start=0, end=1))
        out: Operand = b.cast(b.Max(most, b.ints(0)), INT32)
        return out

    return emit(tracer, name, "Minimum", [lengths, rows], run, (INT32, lengths.shape), say)


def is_size_of(tracer: Tracer, limit: Operand, rows: Operand) -> bool:
    """Whether an operand is the first size of a tensor, read from its shape."""
    producers = {output: step for step in tracer.steps for output in step.outputs}
    taken = producers.get(limit)
    if taken is None or taken.op != "StridedSlice" or taken.attrs.get("shrink_axis_mask") != 1:
        return False
    begin = taken.inputs[1].array
    shape = producers.get(taken.inputs[0])
    if begin is None or begin.tolist() != [0] or shape is None or shape.op != "Shape":
        return False
    measured = shape.inputs[0]
    while (reverse := producers.get(rows)) is not None and reverse.op == "ReverseV2" and rows is not measured:
        rows = reverse.inputs[0]
    return rows is measured


def _node(
    tracer: Tracer,
    loop: TimeLoop,
    cell: RnnCell,
    indices: list[int],
    x: Operand,
    limit: Operand,
    lengths: Operand | None,
) -> Recurrence:
    first = [loop.initial[i] for i in indices]
    b = Builder(loop.name)
    weights = [
        b.const(weight[None], FLOAT32) for weight in (cell.w, cell.r, np.concatenate([cell.b, cell.rb]))
    ]
    attrs: dict[str, Any] = {"hidden_size": cell.units}
    if cell.kind == "GRU":
        attrs["linear_before_reset"] = int(cell.reset_after)
    if cell.kind == "RNN":
        attrs["activations"] = [cell.activation]
    assert x.shape is not None
    batch = x.shape[1]
    shapes: Any = [(x.shape[0], 1, batch, cell.units), *[(1, batch, cell.units)] * len(first)]
    initial = [b.unsqueeze(state, 0) for state in first]
    initial[0] = refuse_empty_batch(b, x, initial[0])
    y, *last = b.nodes(
        cell.kind,
        x,
        *weights,
        lengths,
        *initial,
        outputs=1 + len(first),
        dtype=FLOAT32,
        shape=shapes,
        **attrs,
    )
    rows = b.squeeze(y, 1)
    states = [b.squeeze(state, 0) for state in last]
    if lengths is not None or not x.shape[0]:
        # without any iteration the engine returns zeros, but a loop its initial states
        count = b.Shape(x, start=0, end=1) if lengths is None else b.unsqueeze(b.int64(lengths), 1)
        none = b.Equal(count, b.ints(0))
        states = [b.Where(none, start, state) for start, state in zip(first, states, strict=True)]
    lowered = b.made if all(tracer.engine.takes(node) for node in b.made) else None
    outputs = (rows, *states)
    run = _run(cell, lengths is not None)
    optional = (lengths,) if lengths is not None else ()
    why = "" if lowered else f"{tracer.engine.name} does not take it"
    tracer.add(Step(loop.name, cell.kind, (x, *first, *optional), outputs, lowered, run, why=why))
    return Recurrence(rows, dict(zip(indices, states, strict=True)), limit)


def _run(cell: RnnCell, has_lengths: bool) -> Any:
    def ordered(matrix: Any) -> Any:
        gates = np.split(matrix, len(_HOST_ORDER[cell.kind]))
        return np.concatenate([gates[place] for place in _HOST_ORDER[cell.kind]])

    w, r, wb, rb = ordered(cell.w).T, ordered(cell.r).T, ordered(cell.b), ordered(cell.rb)
    activations = {"Tanh": np.tanh, "Relu": lambda v: np.maximum(v, 0), "Sigmoid": sigmoid}

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        x, h = inputs[:2]
        lengths = inputs[-1] if has_lengths else None
        if cell.kind == "LSTM":
            return recurrence.lstm(x, h, inputs[2], w, r, wb + rb, lengths)
        if cell.kind == "RNN":
            return recurrence.simple_rnn(x, h, w, r, wb + rb, activations[cell.activation], lengths)
        if cell.reset_after:
            return recurrence.gru(x, h, w, r, wb, rb, lengths)
        return recurrence.gru_reset_before(x, h, w, r, wb + rb, lengths)

    return run
