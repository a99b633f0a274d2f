"""Recurrent layers: SimpleRNN, LSTM, GRU and RNN run a cell over time, CuDNNLSTM and CuDNNGRU a fixed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from tfport.errors import CannotRun
from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import StateSize, find_layer, layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.rnn_cells import CellOptions, CellWeights, gates, gru_step, lstm_step
from tfport.frontends.keras.problems import STACKED_CELLS, unknown_cell
from tfport.frontends.keras.recurrent import Cell, RnnCall, RnnOptions, recurrent
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors
from tfport.graph.building.arrays import concat, reshape, split, transpose
from tfport.graph.building.node_builder import Dims

LAST_REVERSED = (2, 2, 2)
"""Up to this version, the states of stacked cells are those of the last cell first."""
_LOOP = {field.name for field in fields(RnnOptions)}


@layer("SimpleRNN LSTM GRU")
def recurrent_layer(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, mask: Any = None, constants: Any = None,
    *, cell: Any = CellOptions, options: Any = RnnOptions,
) -> Any:  # fmt: skip
    call, config = RnnCall(sequences, initial_state, mask, constants), b.instance.config
    if call.constant_tensors(options):
        raise b.refuse("it is called with constants, which its cell does not take")
    stored = {name: value for name, value in config.config.items() if name not in _LOOP}
    child = {"class_name": f"{config.class_name}Cell", "config": stored}
    return recurrent(b, call, _cell(b, "cell", child), options)


@layer("RNN", wraps="cell")
def rnn(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, mask: Any = None, constants: Any = None,
    *, cell: Json, options: Any = RnnOptions,
) -> Any:  # fmt: skip
    call = RnnCall(sequences, initial_state, mask, constants)
    return recurrent(b, call, _cell(b, "cell", cell, call.constant_tensors(options)), options)


def _cell(b: LayerBuilder, attribute: str, stored: Json, constants: Sequence[LayerTensor] = ()) -> Cell:
    """A cell from its configuration, or a stack of cells; each gets the constants of the call."""
    if isinstance(stored, list):
        stored = {"class_name": STACKED_CELLS, "config": {"cells": stored}}
    child = b.sublayer(attribute, stored)
    name, config = child.config.class_name, child.config.config
    if name == STACKED_CELLS:
        return _stack(b.builder_of(child), config, constants)
    declared = find_layer(child.config)
    if declared is None or not declared.states:
        raise CannotRun(unknown_cell(b.instance.config, name))
    keywords: dict[str, Any] = {"constants": list(constants)} if "constants" in declared.inputs else {}
    if constants and not keywords:
        raise b.refuse(f"it is called with constants, which its cell `{name}` does not take")

    def step(x: LayerTensor, states: list[LayerTensor]) -> tuple[LayerTensor, list[LayerTensor]]:
        output, after = b.call(child, x, states, **keywords)
        if len(after) != len(states) or after[declared.output_state] is not output:
            raise b.refuse(
                f"its cell `{name}` must return its output and a list of {len(states)} new states, of which "
                f"number {declared.output_state} is the output"
            )
        return output, list(after)

    return Cell(step, [_state_size(b, size, config) for size in declared.states], declared.output_state)


def _state_size(b: LayerBuilder, size: StateSize, config: Mapping[str, Json]) -> Dims:
    """The size of a state, of which options of the cell are parts."""
    parts = [size] if isinstance(size, str | int) else size
    numbers = [config.get(part) if isinstance(part, str) else part for part in parts]
    if not all(type(number) is int for number in numbers):
        raise b.refuse(f"the size of a state of its cell is {size!r}, which its options do not say")
    return tuple(numbers)


def _stack(b: LayerBuilder, config: Mapping[str, Json], constants: Sequence[LayerTensor]) -> Cell:
    stored = config.get("cells")
    if not isinstance(stored, list) or not stored:
        raise b.refuse("it has no cells")
    cells = [_cell(b, f"cells/{index}", entry, constants) for index, entry in enumerate(stored)]
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
    return Cell(step, [dims for cell in order for dims in cell.states], last + cells[-1].output)


def _by_cell(order: list[Cell], states: list[LayerTensor]) -> dict[int, list[LayerTensor]]:
    parts, rest = {}, list(states)
    for cell in order:
        parts[id(cell)], rest = rest[: len(cell.states)], rest[len(cell.states) :]
    return parts


# CuDNNLSTM and CuDNNGRU: weights in the layout of cuDNN, and no options for the cell


@layer("CuDNNLSTM")
def cudnn_lstm(
    b: LayerBuilder, sequences: Any, initial_state: Any = None,
    *, units: int, unit_forget_bias: bool = True, options: Any = RnnOptions,
) -> Any:  # fmt: skip
    kernel, recurrent_kernel, bias = _weights(b, sequences, units, 4)
    cell_options = CellOptions(units, recurrent_activation="sigmoid")
    both = split(b, bias, 2, 0, drop=True)
    weights: CellWeights = (kernel, recurrent_kernel, b.Add(*both))
    cell = Cell(lambda x, s: lstm_step(b, gates(b, x, s[0], weights), s[1], cell_options), [(units,)] * 2)
    return recurrent(b, RnnCall(sequences, initial_state), cell, options)


@layer("CuDNNGRU")
def cudnn_gru(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, *, units: int, options: Any = RnnOptions
) -> Any:
    weights = _weights(b, sequences, units, 3)
    cell_options = CellOptions(units, recurrent_activation="sigmoid", reset_after=True)
    cell = Cell(lambda x, s: gru_step(b, x, s[0], weights, cell_options), [(units,)])
    return recurrent(b, RnnCall(sequences, initial_state), cell, options)


def _weights(
    b: LayerBuilder, sequences: Any, units: int, count: int
) -> tuple[LayerTensor, LayerTensor, LayerTensor]:
    """The weights as those of LSTM and GRU; the two biases as rows.

    cuDNN reads the matrix of each gate as (units, inputs), from memory that Keras fills from (inputs, units).
    """
    inputs = next(iter(flat_tensors(sequences))).shape[-1]
    kernel = b.weight("kernel", (inputs, units * count))
    recurrent_kernel = b.weight("recurrent_kernel", (units, units * count))
    bias = b.weight("bias", (2 * units * count,))
    return (
        _transposed(b, kernel, units, count),
        _transposed(b, recurrent_kernel, units, count),
        reshape(b, bias, (2, units * count)),
    )


def _transposed(b: LayerBuilder, matrix: LayerTensor, units: int, count: int) -> LayerTensor:
    rows = matrix.shape[0]
    parts = [reshape(b, part, (units, rows)) for part in split(b, matrix, count, 1)]
    return concat(b, [transpose(b, part, (1, 0)) for part in parts], 1)
