"""Recurrent layers over time: LSTM, GRU and plain ones, as all ops here need them.

`x` is (time, batch, inputs); states are (batch, units). A sequence that is shorter than
the others keeps its state from its end on, and its outputs there are zero. Gates stand
beside one another in the matrices, in the order that each function says.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(0.5 * x) + 1)


def lstm(x: Any, h: Any, c: Any, w: Any, r: Any, b: Any, lengths: Any = None) -> tuple[Any, ...]:
    """Gates i, f, c, o: all outputs, the last output, the last state."""
    inputs = np.matmul(x, w) + b
    states = (h, c)

    def turn(at: int, before: Any) -> Any:
        i, f, g, o = np.split(inputs[at] + before[0] @ r, 4, axis=-1)
        cell = sigmoid(f) * before[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(cell), cell

    return _over_time(len(x), turn, states, lengths)


def gru(x: Any, h: Any, w: Any, r: Any, b: Any, rb: Any, lengths: Any = None) -> tuple[Any, ...]:
    """Gates r, z, n, with the reset applied behind the recurrent product: all outputs, the last output."""
    inputs = np.matmul(x, w) + b

    def turn(at: int, before: Any) -> Any:
        xr, xz, xn = np.split(inputs[at], 3, axis=-1)
        hr, hz, hn = np.split(before[0] @ r + rb, 3, axis=-1)
        update = sigmoid(xz + hz)
        new = np.tanh(xn + sigmoid(xr + hr) * hn)
        return ((1 - update) * new + update * before[0],)

    return _over_time(len(x), turn, (h,), lengths)


def gru_reset_before(x: Any, h: Any, w: Any, r: Any, b: Any, lengths: Any = None) -> tuple[Any, ...]:
    """Gates r, z, n, with the reset applied to the state itself: all outputs, the last output."""
    inputs = np.matmul(x, w) + b
    gates, new_gate = np.split(r, [2 * h.shape[-1]], axis=-1)

    def turn(at: int, before: Any) -> Any:
        xr, xz, xn = np.split(inputs[at], 3, axis=-1)
        hr, hz = np.split(before[0] @ gates, 2, axis=-1)
        update = sigmoid(xz + hz)
        new = np.tanh(xn + (sigmoid(xr + hr) * before[0]) @ new_gate)
        return ((1 - update) * new + update * before[0],)

    return _over_time(len(x), turn, (h,), lengths)


def plain(x: Any, h: Any, w: Any, r: Any, b: Any, activation: Any, lengths: Any = None) -> tuple[Any, ...]:
    """One gate, and an activation: all outputs, the last output."""
    inputs = np.matmul(x, w) + b
    return _over_time(len(x), lambda at, before: (activation(inputs[at] + before[0] @ r),), (h,), lengths)


def _over_time(turns: int, turn: Any, states: tuple[Any, ...], lengths: Any) -> tuple[Any, ...]:
    outputs = np.zeros((turns, *states[0].shape), states[0].dtype)
    for at in range(turns):
        after = turn(at, states)
        if lengths is None:
            states, outputs[at] = after, after[0]
        else:
            live = (at < lengths)[:, None]
            states = tuple(np.where(live, a, b) for a, b in zip(after, states, strict=True))
            outputs[at] = np.where(live, after[0], 0)
    return (outputs, *states)


def reversed_in_time(x: Any, lengths: Any = None) -> Any:
    """Each sequence from its end to its start; what stands behind its end stays."""
    if lengths is None:
        return x[::-1]
    places = np.arange(len(x))[:, None]
    turned = np.where(places < lengths, lengths - 1 - places, places)
    return np.take_along_axis(x, turned[..., None], axis=0)
