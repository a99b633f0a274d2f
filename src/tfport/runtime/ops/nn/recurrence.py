"""LSTM, GRU and simple recurrent layers over time, in NumPy.

`x` has shape (time, batch, inputs), states have shape (batch, units). After the end of a sequence
(`lengths`) its state no longer changes and its outputs are zero. Matrices have the gates side by
side, in the order that each function states. A result has all outputs, then the final states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.runtime.ops.shared.precision import sigmoid


def lstm(
    x: Any,
    h: Any,
    c: Any,
    w: Any,
    r: Any,
    b: Any,
    lengths: Any = None,
    activations: Sequence[Any] = (sigmoid, np.tanh, np.tanh),
    peepholes: Any = None,
) -> tuple[Any, ...]:
    """LSTM with gates i, f, c, o; `activations` of gates, new values and cell state, `peepholes` i, o, f."""
    inputs = np.matmul(x, w) + b
    gate, activate_new, activate_cell = activations
    peep_i, peep_o, peep_f = peepholes or (None, None, None)

    def step(time: int, state: Any) -> Any:
        i, f, g, o = np.split(inputs[time] + state[0] @ r, 4, axis=-1)
        if peepholes is not None:
            i, f = i + peep_i * state[1], f + peep_f * state[1]
        cell = gate(f) * state[1] + gate(i) * activate_new(g)
        if peepholes is not None:
            o = o + peep_o * cell
        return gate(o) * activate_cell(cell), cell

    return _over_time(len(x), step, (h, c), lengths)


def gru(
    x: Any,
    h: Any,
    w: Any,
    r: Any,
    b: Any,
    rb: Any,
    lengths: Any = None,
    activations: Sequence[Any] = (sigmoid, np.tanh),
    rounded: Callable[[Any], Any] = lambda state: state,
) -> tuple[Any, ...]:
    """GRU with gates r, z, n; the reset gate applies after the recurrent product, that of `rounded(h)`."""
    inputs = np.matmul(x, w) + b
    gate, activate_new = activations
    units = h.shape[-1]
    both, new_gate = slice(0, 2 * units), slice(2 * units, 3 * units)

    def step(time: int, state: Any) -> Any:
        row, product = inputs[time], rounded(state[0]) @ r + rb
        gates = gate(row[:, both] + product[:, both])
        reset, update = gates[:, :units], gates[:, units:]
        new = activate_new(row[:, new_gate] + reset * product[:, new_gate])
        return ((1 - update) * new + update * state[0],)

    return _over_time(len(x), step, (h,), lengths)


def gru_reset_before(
    x: Any,
    h: Any,
    w: Any,
    r: Any,
    b: Any,
    lengths: Any = None,
    activations: Sequence[Any] = (sigmoid, np.tanh),
) -> tuple[Any, ...]:
    """GRU with gates r, z, n; the reset gate applies to the state before the product."""
    inputs = np.matmul(x, w) + b
    gate, activate_new = activations
    gates, new_gate = np.split(r, [2 * h.shape[-1]], axis=-1)

    def step(time: int, state: Any) -> Any:
        xr, xz, xn = np.split(inputs[time], 3, axis=-1)
        hr, hz = np.split(state[0] @ gates, 2, axis=-1)
        update = gate(xz + hz)
        new = activate_new(xn + (gate(xr + hr) * state[0]) @ new_gate)
        return ((1 - update) * new + update * state[0],)

    return _over_time(len(x), step, (h,), lengths)


def simple_rnn(
    x: Any, h: Any, w: Any, r: Any, b: Any, activation: Any, lengths: Any = None
) -> tuple[Any, ...]:
    """Recurrent layer without gates."""
    inputs = np.matmul(x, w) + b
    return _over_time(len(x), lambda time, state: (activation(inputs[time] + state[0] @ r),), (h,), lengths)


def _over_time(steps: int, step: Any, states: tuple[Any, ...], lengths: Any) -> tuple[Any, ...]:
    outputs = np.zeros((steps, *states[0].shape), states[0].dtype)
    for time in range(steps):
        after = step(time, states)
        if lengths is None:
            states, outputs[time] = after, after[0]
        else:
            active = (time < lengths)[:, None]
            states = tuple(np.where(active, a, b) for a, b in zip(after, states, strict=True))
            outputs[time] = np.where(active, after[0], 0)
    return (outputs, *states)


def reverse_sequences(x: Any, lengths: Any = None) -> Any:
    """Reverse each sequence in time; elements after its end keep their place."""
    if lengths is None:
        return x[::-1]
    times = np.arange(len(x))[:, None]
    source = np.where(times < lengths, lengths - 1 - times, times)
    return np.take_along_axis(x, source[..., None], axis=0)
