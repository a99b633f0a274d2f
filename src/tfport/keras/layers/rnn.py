"""SimpleRNN, LSTM, GRU and RNN: a cell that is run over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tfport.errors import CannotRun
from tfport.formats.keras.records import Json
from tfport.keras.layer import layer
from tfport.keras.layer_builder import LayerBuilder
from tfport.keras.layers.rnn_cells import CellOptions
from tfport.keras.problems import STACKED_CELLS, unknown_cell
from tfport.keras.recurrent import Cell, RnnCall, RnnOptions, recurrent
from tfport.keras.tensor import LayerTensor

STATES = {"SimpleRNNCell": 1, "GRUCell": 1, "LSTMCell": 2, "PeepholeLSTMCell": 2}
LAST_REVERSED = (2, 2, 2)
"""Up to this version, the states of stacked cells are those of the last cell first."""
_LOOP = {field.name for field in fields(RnnOptions)}


@layer("SimpleRNN LSTM GRU")
def recurrent_layer(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, mask: Any = None, constants: Any = None,
    *, cell: Any = CellOptions, options: Any = RnnOptions,
) -> Any:  # fmt: skip
    config = b.instance.config
    stored = {name: value for name, value in config.config.items() if name not in _LOOP}
    child = {"class_name": f"{config.class_name}Cell", "config": stored}
    return recurrent(b, RnnCall(sequences, initial_state, mask, constants), _cell(b, "cell", child), options)


@layer("RNN", wraps="cell")
def rnn(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, mask: Any = None, constants: Any = None,
    *, cell: Json, options: Any = RnnOptions,
) -> Any:  # fmt: skip
    return recurrent(b, RnnCall(sequences, initial_state, mask, constants), _cell(b, "cell", cell), options)


def _cell(b: LayerBuilder, attribute: str, stored: Json) -> Cell:
    """A cell from its configuration, or a stack of cells."""
    if isinstance(stored, list):
        stored = {"class_name": STACKED_CELLS, "config": {"cells": stored}}
    child = b.sublayer(attribute, stored)
    name, config = child.config.class_name, child.config.config
    if name == STACKED_CELLS:
        return _stack(b.builder_of(child), config)
    if name not in STATES:
        raise CannotRun(unknown_cell(b.instance.config, name))
    return Cell(lambda x, states: b.call(child, x, states), [(config.get("units"),)] * STATES[name])


def _stack(b: LayerBuilder, config: Mapping[str, Json]) -> Cell:
    stored = config.get("cells")
    if not isinstance(stored, list) or not stored:
        raise b.refuse("it has no cells")
    cells = [_cell(b, f"cells/{place}", entry) for place, entry in enumerate(stored)]
    is_reversed = config.get("reverse_state_order") or (
        not b.version.is_tensorflow and b.version.numbers <= LAST_REVERSED
    )
    order = cells[::-1] if is_reversed else cells

    def step(x: LayerTensor, states: list[LayerTensor]) -> tuple[LayerTensor, list[LayerTensor]]:
        parts = _by_cell(order, states)
        after: dict[int, list[LayerTensor]] = {}
        for cell in cells:
            x, after[id(cell)] = cell.step(x, parts[id(cell)])
        return x, [state for cell in order for state in after[id(cell)]]

    last = sum(len(cell.states) for cell in order[: order.index(cells[-1])])
    return Cell(step, [dims for cell in order for dims in cell.states], last)


def _by_cell(order: list[Cell], states: list[LayerTensor]) -> dict[int, list[LayerTensor]]:
    parts, rest = {}, list(states)
    for cell in order:
        parts[id(cell)], rest = rest[: len(cell.states)], rest[len(cell.states) :]
    return parts
