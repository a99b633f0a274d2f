"""A recurrent layer as one step: a node of ONNX, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import naming_node
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn import recurrence
from tfport.runtime.ops.nn.empty_batches import refuse_empty_batch
from tfport.runtime.passes.programs.rnn_activations import attributes_of
from tfport.runtime.passes.programs.rnn_cells import RnnCell
from tfport.runtime.program import Step

_HOST_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
"""The indices of the gates of `ops.nn.recurrence` (i, f, c, o; r, z, n) in ONNX's order."""


def layer_step(
    engine: Engine,
    name: str,
    cell: RnnCell,
    first: Sequence[Operand],
    x: Operand,
    lengths: Operand | None,
) -> Step:
    """A layer with these first states; its outputs are those of all steps, and the states after the last.

    `lengths`: those of the sequences, if they are shorter than `x`.
    """
    b = Builder(name)
    weights = [
        b.const(weight[None], FLOAT32) for weight in (cell.w, cell.r, np.concatenate([cell.b, cell.rb]))
    ]
    attrs: dict[str, Any] = {"hidden_size": cell.units, **attributes_of(cell.activations)}
    if cell.kind == "GRU":
        attrs["linear_before_reset"] = int(cell.reset_after)
    assert x.shape is not None
    batch = x.shape[1]
    shapes: Any = [(x.shape[0], 1, batch, cell.units), *[(1, batch, cell.units)] * len(first)]
    initial = [b.unsqueeze(state, 0) for state in first]
    initial[0] = refuse_empty_batch(b, cell.kind, x, initial[0])
    if cell.peepholes is not None:
        initial.append(b.const(cell.peepholes[None], FLOAT32))
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
    lowered = b.added if all(engine.takes(node) for node in b.added) else None
    optional = (lengths,) if lengths is not None else ()
    why = "" if lowered else f"{engine.name} does not take it"
    run = naming_node(_run(cell, lengths is not None), name, cell.kind)
    return Step(name, cell.kind, (x, *first, *optional), (rows, *states), lowered, run, why=why)


def host_weights(cell: RnnCell) -> list[Any]:
    """The weights and biases of the input and of the recurrence, as `ops.nn.recurrence` takes them."""

    def ordered(matrix: Any) -> Any:
        gates = np.split(matrix, len(_HOST_ORDER[cell.kind]))
        return np.concatenate([gates[index] for index in _HOST_ORDER[cell.kind]])

    return [ordered(cell.w).T, ordered(cell.r).T, ordered(cell.b), ordered(cell.rb)]


def _run(cell: RnnCell, has_lengths: bool) -> Any:
    w, r, wb, rb = host_weights(cell)
    activations = cell.activations
    peepholes = None if cell.peepholes is None else np.split(cell.peepholes, 3)

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        x, h = inputs[:2]
        lengths = inputs[-1] if has_lengths else None
        if cell.kind == "LSTM":
            return recurrence.lstm(x, h, inputs[2], w, r, wb + rb, lengths, activations, peepholes)
        if cell.kind == "RNN":
            return recurrence.simple_rnn(x, h, w, r, wb + rb, activations[0], lengths)
        if cell.reset_after:
            return recurrence.gru(x, h, w, r, wb, rb, lengths, activations)
        return recurrence.gru_reset_before(x, h, w, r, wb + rb, lengths, activations)

    return run
