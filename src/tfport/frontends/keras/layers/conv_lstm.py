"""ConvLSTM1D, 2D and 3D: an LSTM whose products are convolutions.

The convolution of the input does not depend on states, so it is computed for all time steps at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.rnn_cells import lstm_step
from tfport.frontends.keras.recurrent import Cell, RnnCall, RnnOptions, recurrent
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors
from tfport.frontends.keras.windows import Numbers, convolve
from tfport.graph.building.arrays import concat, expand_dims, reshape, split, squeeze, transpose
from tfport.graph.building.sizes import sizes
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ConvLstmOptions:
    """The options of the cell of a convolutional LSTM."""

    filters: int
    kernel_size: Any = 1
    strides: Any = 1
    padding: str = "valid"
    data_format: str | None = None
    dilation_rate: Any = 1
    activation: Json = "tanh"
    recurrent_activation: Json = "hard_sigmoid"
    use_bias: bool = True
    unit_forget_bias: bool = True
    dropout: float = 0.0
    recurrent_dropout: float = 0.0
    seed: Json = None
    rank: int | None = None


@layer("ConvLSTM1D ConvLSTM2D ConvLSTM3D")
def conv_lstm(
    b: LayerBuilder, sequences: Any, initial_state: Any = None, mask: Any = None, constants: Any = None,
    *, cell: Any = ConvLstmOptions, options: Any = RnnOptions,
) -> Any:  # fmt: skip
    call = RnnCall(sequences, initial_state, mask, constants)
    if call.constant_tensors(options):
        raise b.refuse("it is called with constants, which its cell does not take")
    x, first = next(iter(flat_tensors(sequences))), cell.data_format == "channels_first"
    states = [_channels_last(b, state, 1) if first else state for state in call.states(options)]
    rows = _channels_last(b, x, 2) if first else x
    child = b.sublayer("cell", {"class_name": "ConvLSTMCell", "config": dict(b.instance.config.config)})
    conv = _Convolutions(b.builder_of(child), cell, rows.rank - 3, rows.shape[-1])
    gates = conv.of_inputs(rows).with_mask(x.mask)
    state = (*gates.shape[2:-1], cell.filters)
    outputs = recurrent(
        b,
        RnnCall(gates, states, mask),
        Cell(lambda row, s: conv.step(row, *s), [state, state]),
        options,
    )
    if not first:
        return outputs
    y, *last = flat_tensors(outputs)
    y = _channels_first(b, y, 2 if options.return_sequences else 1).with_mask(y.mask)
    return [y, *(_channels_first(b, s, 1) for s in last)] if last else y


class _Convolutions:
    """The weights of a convolutional LSTM, and what is computed with them."""

    def __init__(self, b: LayerBuilder, options: Any, rank: int, channels: int | None) -> None:
        self.b, self.options, self.rank = b, options, rank
        self.size = _tuple(options.kernel_size, rank)
        self.kernel, self.recurrent_kernel, self.bias = self._weights(channels)

    def _weights(self, channels: int | None) -> tuple[LayerTensor, LayerTensor, LayerTensor | None]:
        b, filters = self.b, self.options.filters
        if b.version.major >= 2:
            kernel = b.weight("kernel", (*self.size, channels, 4 * filters))
            recurrent_kernel = b.weight("recurrent_kernel", (*self.size, filters, 4 * filters))
            return (
                kernel,
                recurrent_kernel,
                b.weight("bias", (4 * filters,)) if self.options.use_bias else None,
            )
        parts: dict[str, LayerTensor] = {}
        for gate in "icfo":
            parts[f"W{gate}"] = self._keras_1_kernel(f"W_{gate}", channels)
            parts[f"U{gate}"] = self._keras_1_kernel(f"U_{gate}", filters)
            parts[f"b{gate}"] = b.weight(f"b_{gate}", (filters,))
        w, u, both = (concat(b, [parts[letter + gate] for gate in "ifco"], -1) for letter in "WUb")
        return w, u, both

    def _keras_1_kernel(self, name: str, channels: int | None) -> LayerTensor:
        b, filters = self.b, self.options.filters
        if self.options.data_format != "channels_first":
            return b.weight(name, (*self.size, channels, filters))
        return transpose(b, b.weight(name, (filters, channels, *self.size)), (2, 3, 1, 0))

    def of_inputs(self, x: LayerTensor) -> LayerTensor:
        """The gates from the inputs of all steps, (batch, time, …)."""
        b, options = self.b, self.options
        flat = reshape(b, x, (None, *sizes(b, x)[2:]))
        strides, dilations = _tuple(options.strides, self.rank), _tuple(options.dilation_rate, self.rank)
        y = self._convolve(flat, self.kernel, strides, dilations, options.padding)
        if self.bias is not None:
            y = b.BiasAdd(y, self.bias)
        outer = [None, *sizes(b, x)[1:2]] if x.shape[0] is None else [*x.shape[:1], None]
        whole = reshape(b, y, (*outer, *sizes(b, y)[1:]))
        return LayerTensor(whole.value, (*x.shape[:2], *y.shape[1:]))

    def step(self, row: LayerTensor, h: LayerTensor, c: LayerTensor) -> tuple[LayerTensor, list[LayerTensor]]:
        unit = (1,) * self.rank
        total = self.b.Add(row, self._convolve(h, self.recurrent_kernel, unit, unit, "same"))
        return lstm_step(self.b, split(self.b, total, 4, -1), c, self.options)

    def _convolve(
        self, x: LayerTensor, kernel: LayerTensor, strides: Numbers, dilations: Numbers, padding: str
    ) -> LayerTensor:
        if self.rank == 1:
            wide = expand_dims(self.b, x, 1)
            with self.b.before_loops():
                kernel = expand_dims(self.b, kernel, 0)
            return squeeze(self.b, convolve(self.b, wide, kernel, (1, *strides), padding, (1, *dilations)), 1)
        return convolve(self.b, x, kernel, strides, padding, dilations)


def _tuple(value: Any, rank: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * rank


def _channels_last(b: LayerBuilder, x: LayerTensor, axis: int) -> LayerTensor:
    return transpose(b, x, [*(i for i in range(x.rank) if i != axis), axis]).with_mask(x.mask)


def _channels_first(b: LayerBuilder, x: LayerTensor, axis: int) -> LayerTensor:
    return transpose(b, x, [*range(axis), x.rank - 1, *range(axis, x.rank - 1)])
