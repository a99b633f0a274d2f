"""Replace a loop over time with known cells by LSTM, GRU or RNN nodes of ONNX, one per cell.

All of the loop must be explained: it counts from zero to the number of rows, reads rows in order,
its states are those of the cells, and its outputs are those of cells, or sums and products of such
rows (`time_rows`). Anything else stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_body import Operands, TimeLoop, limits_of, same_number, smallest
from tfport.runtime.ops.control.loop_lists import rows_after_loop
from tfport.runtime.ops.control.structure_steps import emit, has_effect
from tfport.runtime.ops.control.traced_lists import counter_value, list_from_rows
from tfport.runtime.passes.pass_list import loop_pass
from tfport.runtime.passes.programs import rnn_cells as cells
from tfport.runtime.passes.programs.affine import AffineReader
from tfport.runtime.passes.programs.rnn_cells import RnnCell
from tfport.runtime.passes.programs.rnn_node import layer_step
from tfport.runtime.passes.programs.time_rows import TimeRows, without_lengths
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass, replace


@dataclass
class Recurrence:
    """The outputs of the nodes: of all iterations, and the states after the last."""

    rows: list[Operand]
    """What the loop appends to each of its lists, (time, batch, units)."""
    states: dict[int, Operand]
    iterations: Operand
    """The number of iterations."""


@dataclass(frozen=True)
class _Layer:
    """A recurrent layer of a loop."""

    cell: RnnCell
    indices: list[int]
    """Its states among the loop variables, the output first."""


@loop_pass
def recurrent_layers(tracer: Tracer, loop: TimeLoop) -> Operands | None:
    """A loop over time with LSTM, GRU or RNN cells is one node per cell."""
    if not may_have_cells(loop):
        return None
    whole = without_lengths(loop, zeros_of(tracer))
    layer = as_nodes(tracer, *whole) if whole is not None else as_nodes(tracer, loop, None)
    return None if layer is None else after_layer(tracer, loop, layer)


def may_have_cells(loop: TimeLoop) -> bool:
    """Whether the states of a loop have the type of recurrent layers, and it has no effects."""
    is_real = all(loop.initial[i].dtype == FLOAT32 for i in loop.states)
    return is_real and not has_effect([loop.program])


def after_layer(tracer: Tracer, loop: TimeLoop, layer: Recurrence) -> Operands:
    """The loop variables after a loop that became recurrent layers."""
    results = list(loop.initial)
    for i, output in layer.states.items():
        results[i] = output
    for i, start in loop.counters.items():
        results[i] = counter_value(tracer, loop.name, start, layer.iterations, loop.initial[i].dtype)
    for (i, change), rows in zip(loop.changes.items(), layer.rows, strict=True):
        facts = tracer.lists.get(loop.initial[i])
        if facts and facts.size and not facts.head and same_number(facts.size, layer.iterations):
            full = replace(facts, stacked=rows, head=None, size=None, change=None, set_rows=rows)
            results[i] = list_from_rows(tracer, loop.name, full)
        else:
            results[i] = rows_after_loop(tracer, loop.traced.loop, i, change, rows)
    return results


def is_explained(loop: TimeLoop) -> bool:
    """Whether all of a loop is known: a stack of recurrent layers."""
    return _explained(loop) is not None


def _explained(loop: TimeLoop) -> tuple[TimeRows, list[_Layer]] | None:
    rows = TimeRows(loop)
    layers = _layers(loop, rows) if limits_of(loop) else []
    return (rows, layers) if layers and all(item in rows.known for item in loop.outputs) else None


def as_nodes(
    tracer: Tracer,
    loop: TimeLoop,
    lengths: Operand | None,
    arranged: Callable[[Operand], Operand] = lambda rows: rows,
) -> Recurrence | None:
    """A node for each layer; `lengths`: those of the sequences, if they are shorter than the loop.

    `arranged` puts the rows that the loop reads into the order in which the nodes read them.
    """
    explained = _explained(loop)
    if explained is None:
        return None
    rows, layers = explained
    limit = smallest(tracer, loop.name, limits_of(loop))
    tensors = {
        row: arranged(exact_rows(tracer, loop.name, tensor, limit)) for row, tensor in rows.reads.items()
    }
    if lengths is not None:
        lengths = _within(tracer, loop.name, lengths, next(iter(tensors.values())))
    states: dict[int, Operand] = {}
    for layer in layers:
        x = rows.stacked(tracer, layer.cell.x, tensors)
        output, last = _node(tracer, loop, layer, x, lengths)
        tensors[loop.results[layer.indices[0]]] = output
        states.update(last)
    outputs = {loop.results[layer.indices[0]] for layer in layers}
    stacked = [rows.stacked(tracer, item, tensors) for item in loop.outputs]
    if lengths is not None:  # the outputs of layers are zero after the end of a sequence already
        stacked = [
            tensor if item in outputs else _until_end(tracer, loop.name, tensor, lengths)
            for item, tensor in zip(loop.outputs, stacked, strict=True)
        ]
    return Recurrence(stacked, states, limit)


def _layers(loop: TimeLoop, rows: TimeRows) -> list[_Layer]:
    """The layers of a loop, each after those whose output it reads; none if there are other states."""
    pending, layers = list(loop.states), list[_Layer]()
    if any(loop.args[i].rank != 2 for i in pending):
        return []
    while pending:
        layer = next((match for h in pending if (match := _layer(loop, rows, h, pending))), None)
        if layer is None:
            return []
        layers.append(layer)
        pending = [i for i in pending if i not in layer.indices]
        rows.add(loop.results[layer.indices[0]])
    return layers


def _layer(loop: TimeLoop, rows: TimeRows, h: int, states: list[int]) -> _Layer | None:
    """The layer whose output is the state `h`."""
    reader = AffineReader(loop.program, {*rows.known, loop.args[h]})
    now, new = loop.args[h], loop.results[h]
    for c in states:
        if c != h and (cell := cells.lstm(reader, now, loop.args[c], new, loop.results[c])) is not None:
            return _Layer(cell, [h, c])
    single = cells.gru(reader, now, new) or cells.plain(reader, now, new)
    return _Layer(single, [h]) if single is not None else None


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


def zeros_of(tracer: Tracer) -> Callable[[Operand], bool]:
    """Tells whether an operand is always zero."""

    def is_zero(operand: Operand) -> bool:
        if operand.array is not None:
            return not operand.array.any()
        step = tracer.producer(operand, "Fill", "ZerosLike")
        if step is None:
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
    taken = tracer.producer(limit, "StridedSlice")
    if taken is None or taken.attrs.get("shrink_axis_mask") != 1:
        return False
    begin, shape = taken.inputs[1].array, tracer.producer(taken.inputs[0], "Shape")
    if begin is None or begin.tolist() != [0] or shape is None:
        return False
    measured = shape.inputs[0]
    while rows is not measured and (reverse := tracer.producer(rows, "ReverseV2")) is not None:
        rows = reverse.inputs[0]
    return rows is measured


def _until_end(tracer: Tracer, name: str, rows: Operand, lengths: Operand) -> Operand:
    """Rows with zeros after the end of each sequence."""

    def run(tensor: Any, counts: Any) -> Any:
        return np.where((np.arange(len(tensor))[:, None] < counts)[..., None], tensor, np.float32(0))

    def say(b: Any, tensor: Operand, counts: Operand) -> Any:
        return b.Where(before_end(b, tensor, counts), tensor, b.const(0, FLOAT32))

    return emit(tracer, name, "SelectV2", [rows, lengths], run, (FLOAT32, rows.shape), say)


def before_end(b: Any, rows: Operand, lengths: Operand) -> Any:
    """Whether each step is before the end of its sequence, (time, batch, 1)."""
    count = b.squeeze(b.Shape(rows, start=0, end=1), 0)
    steps = b.Range(b.const(0, INT64), count, b.const(1, INT64))
    return b.Less(b.unsqueeze(steps, 1, 2), b.unsqueeze(b.int64(lengths), 0, 2))


def _node(
    tracer: Tracer, loop: TimeLoop, layer: _Layer, x: Operand, lengths: Operand | None
) -> tuple[Operand, dict[int, Operand]]:
    """The outputs of a layer in all iterations, and its states after the last."""
    first = [loop.initial[i] for i in layer.indices]
    step = layer_step(tracer.engine, loop.name, layer.cell, first, x, lengths)
    tracer.add(step)
    rows, *states = step.outputs
    return rows, dict(zip(layer.indices, states, strict=True))
