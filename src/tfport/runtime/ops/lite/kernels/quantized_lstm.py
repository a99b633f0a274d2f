"""Recurrent layers of int8, as the kernels compute them: LSTM with an int16 cell, SVDF with int16 memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.fixed_point import (
    TANH_BITS,
    divide_by_power,
    inverse_sqrt,
    logistic_of_16_bits,
    rescale,
    tanh_of_16_bits,
    to_int32,
)
from tfport.runtime.lower import host
from tfport.startup.dataclass import dataclass

GATE_BITS = 3
"""The integer bits of gates before their activation."""


@host("LiteIntegerLstm")
def lite_integer_lstm(
    x, weights, recurrent, bias, projection, projection_bias, peephole, norm, state, cell, *, gates,
    multiplier, shift, recurrent_multiplier, recurrent_shift, hidden_multiplier, hidden_shift, hidden_zero,
    projection_multiplier, projection_shift, x_zero, state_zero, cell_power, cell_clip, projection_clip,
    time_major, peephole_multiplier, peephole_shift, norm_multiplier, norm_shift, norm_guard,
):  # fmt: skip
    """The sequence is (time, batch, inputs); products of all gates are one.

    With `time_major` the kernel takes the whole batch in each step, otherwise one after the other.
    """
    cells, cell_bits = len(bias) // gates, 15 + cell_power
    factor, exponent = (np.repeat(np.array(v, np.int64), cells) for v in (multiplier, shift))
    again, again_exponent = (
        np.repeat(np.array(v, np.int64), cells) for v in (recurrent_multiplier, recurrent_shift)
    )
    norms = [
        CellNorm(of_gate.astype(np.int64), added.astype(np.int64), *numbers)
        for of_gate, added, *numbers in zip(
            norm.reshape(-1, cells), bias.reshape(-1, cells), norm_multiplier, norm_shift, norm_guard,
            strict=False,
        )
    ]  # fmt: skip
    holes = [
        Peephole(w.astype(np.int64), state.shape[-1], time_major, *numbers)
        for w, *numbers in zip(peephole.reshape(-1, cells), peephole_multiplier, peephole_shift, strict=True)
    ]
    from_x = _product(x.astype(np.float64) - x_zero, weights) + (0 if norms else bias)
    gates_of_x = np.clip(rescale(from_x, factor, exponent), -32768, 32767)
    hidden, memory = state.astype(np.int64), cell.astype(np.int64)
    outputs = np.empty((*x.shape[:2], state.shape[-1]), np.int8)
    for time, part in enumerate(gates_of_x):
        sums = _product(hidden.astype(np.float64) - state_zero, recurrent)
        total = np.clip(part + rescale(sums, again, again_exponent), -32768, 32767)
        *early, new, leave = (total[:, index * cells : (index + 1) * cells] for index in range(gates))
        if holes:
            early = [hole.added(gate, memory) for hole, gate in zip(holes[:-1], early, strict=True)]
        *early, new = (_normalized(gate, norms, index) for index, gate in enumerate([*early, new]))
        forget = logistic_of_16_bits(early[-1], GATE_BITS)
        enter = logistic_of_16_bits(early[0], GATE_BITS) if gates == 4 else 32767 - forget
        kept = divide_by_power(forget * memory, 15)
        added = divide_by_power(enter * tanh_of_16_bits(new, GATE_BITS), 30 + cell_power).astype(np.int16)
        memory = np.clip(kept + added, -32768, 32767)
        if cell_clip:
            memory = np.clip(memory, -cell_clip, cell_clip)
        leave = holes[-1].added(leave, memory) if holes else leave
        leave = logistic_of_16_bits(_normalized(leave, norms, gates - 1), GATE_BITS)
        shown = tanh_of_16_bits(memory, cell_bits) if cell_bits in TANH_BITS else enter
        product = rescale(leave * shown, hidden_multiplier, hidden_shift)
        if projection.size:
            inner = np.clip(product - hidden_zero, -128, 127) + hidden_zero
            sums = _product(inner.astype(np.float64), projection)
            sums = sums + projection_bias if projection_bias.size else sums
            hidden = np.clip(rescale(sums, projection_multiplier, projection_shift) + state_zero, -128, 127)
            if projection_clip:
                hidden = np.clip(hidden, -projection_clip, projection_clip)
        else:
            hidden = np.clip(product + hidden_zero, -128, 127)
        outputs[time] = hidden
    return outputs, hidden.astype(np.int8), memory.astype(np.int16)


def _product(x: Any, weights: Any) -> Any:
    return (x @ weights.astype(np.float64).T).astype(np.int64)


def _normalized(gate: Any, norms: list[CellNorm], index: int) -> Any:
    return norms[index].applied(gate) if norms else gate


@host("LiteIntegerSvdf")
def lite_integer_svdf(x, features, times, bias, state, *, rank, multiplier, shift, x_zero, y_zero):
    """Filters of the input become the newest column of the memory, which is then summed over time."""
    filters, length = times.shape
    sums = (x.astype(np.float64) - x_zero) @ features.astype(np.float64).T
    newest = np.clip(rescale(sums.astype(np.int64), multiplier[0], shift[0]), -32768, 32767)
    memory = state.reshape(-1, filters, length).astype(np.int64)
    memory = np.concatenate([memory[:, :, 1:], newest[:, :, None]], axis=2)
    weighted = np.sum(memory * times.astype(np.int64), axis=2).reshape(-1, filters // rank, rank)
    total = to_int32(np.sum(weighted, axis=2) + bias)
    y = np.clip(rescale(total, multiplier[1], shift[1]) + y_zero, -128, 127)
    return y.astype(np.int8), memory.astype(np.int16).reshape(state.shape)


# What an integer LSTM layer does with a gate before its activation: peephole and normalization.
#
# Gates are int64 arrays (batch, cells) of 16-bit numbers.

SMALLEST, LARGEST = -32768, 32767
EXTRA = 1024
"""The factor by which normalized numbers are finer than the gate."""


@dataclass(frozen=True, slots=True)
class Peephole:
    """The weights with which the cell takes part in a gate."""

    weights: Any
    width: int
    """The outputs of the layer: the kernel multiplies as many numbers for each of the batch."""
    is_flat: bool
    """Whether the rows of a batch follow each other in steps of that width, also in a wider cell."""
    multiplier: int
    shift: int

    def added(self, gate: Any, cell: Any) -> Any:
        """The gate with the products of the cell."""
        result = gate.copy()
        shape = (1, -1) if self.is_flat else gate.shape
        part, other = result.reshape(shape), cell.reshape(shape)
        count = len(gate) * self.width if self.is_flat else self.width
        products = np.tile(self.weights[: self.width], count // self.width) * other[:, :count]
        sums = part[:, :count] + rescale(products, self.multiplier, self.shift)
        part[:, :count] = np.clip(sums, SMALLEST, LARGEST)
        return result


@dataclass(frozen=True, slots=True)
class CellNorm:
    """The weights with which a gate is normalized over its cells."""

    weights: Any
    bias: Any
    multiplier: int
    shift: int
    guard: int
    """What takes the place of a variance of zero."""

    def applied(self, gate: Any) -> Any:
        """The gate, normalized, in steps of 1/4096."""
        return np.stack([self._row(row) for row in gate])

    def _row(self, row: Any) -> Any:
        count = len(row)
        mean = _quotient(int(row.sum()) * EXTRA, count)
        squares = int((row * row).sum()) * (EXTRA * EXTRA // count)
        variance = _quotient(squares - mean * mean, EXTRA * EXTRA)
        factor, exponent = inverse_sqrt(variance if variance >= 1 else self.guard)
        rescaled = rescale(EXTRA * row - mean, factor, exponent)
        scaled = to_int32(rescaled * self.weights + self.bias)
        rounded = np.trunc((scaled + np.where(scaled > 0, EXTRA // 2, -EXTRA // 2)) / EXTRA).astype(np.int64)
        return np.clip(rescale(rounded, self.multiplier, self.shift + 12), SMALLEST, LARGEST)


def _quotient(x: int, y: int) -> int:
    """A quotient without its fraction, as in C."""
    return x // y if x >= 0 else -(-x // y)
