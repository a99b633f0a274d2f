"""The cells of recurrent layers: one step from an input and states to an output and new states.

The output of a cell is one of its new states. Dropout does nothing at inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, matmul, slice_axis, split
from tfport.startup.dataclass import dataclass

Stepped = tuple[LayerTensor, list[LayerTensor]]
"""The output and the new states."""
CellWeights = tuple[LayerTensor, LayerTensor, LayerTensor | None]
"""Kernel, recurrent kernel and bias, if there is one."""
SEPARATE = ("cpu", "mem")
"""The values of `consume_less` with which Keras 1 stores the arrays of each gate separately."""


@dataclass(frozen=True, slots=True)
class CellOptions:
    """The options of the cells of SimpleRNN, LSTM and GRU."""

    units: int
    activation: Json = "tanh"
    recurrent_activation: Json = "hard_sigmoid"
    use_bias: bool = True
    unit_forget_bias: bool = True
    reset_after: bool = False
    dropout: float = 0.0
    recurrent_dropout: float = 0.0
    seed: Json = None
    implementation: int = 1
    consume_less: str = "cpu"
    """Keras 1: `gpu` stores the arrays of all gates together."""


@layer("SimpleRNNCell", states=["units"])
def simple_rnn_cell(
    b: LayerBuilder, x: LayerTensor, states: Sequence[LayerTensor], *, cell: Any = CellOptions
) -> Stepped:
    total = b.Add(
        matmul(b, x, b.weight("kernel", (x.shape[-1], cell.units))),
        matmul(b, states[0], b.weight("recurrent_kernel", (cell.units, cell.units))),
    )
    h = activate(
        b, cell.activation, _plus(b, total, b.weight("bias", (cell.units,)) if cell.use_bias else None)
    )
    return h, [h]


@layer("LSTMCell", states=["units", "units"])
def lstm_cell(
    b: LayerBuilder, x: LayerTensor, states: Sequence[LayerTensor], *, cell: Any = CellOptions
) -> Stepped:
    h, c = states
    return lstm_step(b, gates(b, x, h, _weights(b, x, cell, "icfo", "ifco")), c, cell)


def gates(b: LayerBuilder, x: LayerTensor, h: LayerTensor, weights: CellWeights) -> list[LayerTensor]:
    """The four gates of an LSTM before their activations: input, forget, new values, output."""
    kernel, recurrent_kernel, bias = weights
    total = b.Add(matmul(b, x, kernel), matmul(b, h, recurrent_kernel))
    return split(b, _plus(b, total, bias), 4, 1)


def lstm_step(b: LayerBuilder, gates: Sequence[LayerTensor], c: LayerTensor, options: Any) -> Stepped:
    """The new states of an LSTM."""
    i, f, new, o = gates
    c = _new_c(b, i, f, new, c, options)
    h = b.Mul(activate(b, options.recurrent_activation, o), activate(b, options.activation, c))
    return h, [h, c]


def _new_c(
    b: LayerBuilder, i: LayerTensor, f: LayerTensor, new: LayerTensor, c: LayerTensor, options: Any
) -> LayerTensor:
    kept = b.Mul(activate(b, options.recurrent_activation, f), c)
    added = b.Mul(activate(b, options.recurrent_activation, i), activate(b, options.activation, new))
    return b.Add(kept, added)


@layer("PeepholeLSTMCell", states=["units", "units"])
def peephole_lstm_cell(
    b: LayerBuilder, x: LayerTensor, states: Sequence[LayerTensor], *, cell: Any = CellOptions
) -> Stepped:
    """An LSTM whose gates see `c` as well: input and forget gates the old one, the output gate the new."""
    h, c = states
    i, f, new, o = gates(b, x, h, _weights(b, x, cell, "icfo", "ifco"))
    see_i, see_f, see_o = (
        b.weight(f"{gate}_gate_peephole_weights", (cell.units,)) for gate in ("input", "forget", "output")
    )
    c_new = _new_c(b, b.Add(i, b.Mul(see_i, c)), b.Add(f, b.Mul(see_f, c)), new, c, cell)
    o = b.Add(o, b.Mul(see_o, c_new))
    h = b.Mul(activate(b, cell.recurrent_activation, o), activate(b, cell.activation, c_new))
    return h, [h, c_new]


@layer("GRUCell", states=["units"])
def gru_cell(
    b: LayerBuilder, x: LayerTensor, states: Sequence[LayerTensor], *, cell: Any = CellOptions
) -> Stepped:
    weights = _weights(b, x, cell, "zrh", "zrh", (2,) if cell.reset_after else ())
    return gru_step(b, x, states[0], weights, cell)


def gru_step(b: LayerBuilder, x: LayerTensor, h: LayerTensor, weights: CellWeights, options: Any) -> Stepped:
    """The new state of a GRU: the reset gate scales the state, or its product with the kernel."""
    if options.reset_after:
        (x_z, x_r, x_h), (h_z, h_r, h_h) = _products(b, x, h, weights)
    else:
        kernel, recurrent_kernel, bias = weights
        with b.before_loops():
            for_gates = slice_axis(b, recurrent_kernel, 1, None, 2 * options.units)
            for_new = slice_axis(b, recurrent_kernel, 1, 2 * options.units, None)
        x_z, x_r, x_h = split(b, _plus(b, matmul(b, x, kernel), bias), 3, 1)
        h_z, h_r = split(b, matmul(b, h, for_gates), 2, 1)
    z = activate(b, options.recurrent_activation, b.Add(x_z, h_z))
    r = activate(b, options.recurrent_activation, b.Add(x_r, h_r))
    recurrent = b.Mul(r, h_h) if options.reset_after else matmul(b, b.Mul(r, h), for_new)
    new = activate(b, options.activation, b.Add(x_h, recurrent))
    h = b.Add(b.Mul(z, h), b.Mul(b.Sub(1.0, z), new))
    return h, [h]


def _products(
    b: LayerBuilder, x: LayerTensor, h: LayerTensor, weights: CellWeights
) -> tuple[list[LayerTensor], list[LayerTensor]]:
    """The products of input and state with their kernels, each with its own bias, by gate."""
    kernel, recurrent_kernel, bias = weights
    biases: Sequence[LayerTensor | None] = (None, None)
    if bias is not None:
        with b.before_loops():
            halves = split(b, bias, 2, 0, drop=True)
            biases = halves
    from_input = _plus(b, matmul(b, x, kernel), biases[0])
    from_state = _plus(b, matmul(b, h, recurrent_kernel), biases[1])
    return split(b, from_input, 3, 1), split(b, from_state, 3, 1)


def _weights(
    b: LayerBuilder, x: LayerTensor, options: Any, stored: str, gates: str, biases: tuple[int, ...] = ()
) -> CellWeights:
    """The weights of all gates; Keras 1 stores those of each gate by itself, in an order of its own."""
    inputs, units = x.shape[-1], options.units
    if b.version.major < 2 and options.consume_less in SEPARATE:
        parts: dict[str, LayerTensor] = {}
        for gate in stored:
            for letter, shape in (("W", (inputs, units)), ("U", (units, units)), ("b", (units,))):
                parts[letter + gate] = b.weight(f"{letter}_{gate}", shape)
        with b.before_loops():
            w, u, bias = (concat(b, [parts[letter + gate] for gate in gates], -1) for letter in "WUb")
        return w, u, bias
    size = units * len(gates)
    kernel = b.weight("kernel", (inputs, size))
    recurrent_kernel = b.weight("recurrent_kernel", (units, size))
    return kernel, recurrent_kernel, b.weight("bias", (*biases, size)) if options.use_bias else None


def _plus(b: LayerBuilder, x: LayerTensor, bias: LayerTensor | None) -> LayerTensor:
    return x if bias is None else b.BiasAdd(x, bias)
