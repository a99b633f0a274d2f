"""CuDNNLSTM and CuDNNGRU: weights in the layout of cuDNN, and no options for the cell."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.arrays import concat, reshape, split, transpose
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.rnn_cells import CellOptions, CellWeights, gates, gru_step, lstm_step
from tfport.frontends.keras.recurrent import Cell, RnnCall, RnnOptions, recurrent
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors


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
