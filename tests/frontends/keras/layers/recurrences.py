"""Recurrent cells in NumPy, from their published equations: what built models must answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Step = Callable[[np.ndarray, list[np.ndarray]], list[np.ndarray]]
"""From an input and states to new states, the output first."""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def simple_rnn(w, u, b) -> Step:
    return lambda x, s: [np.tanh(x @ w + s[0] @ u + b)]


def lstm(w, u, b, gate=sigmoid) -> Step:
    def step(x, s):
        i, f, g, o = np.split(x @ w + s[0] @ u + b, 4, -1)
        c = gate(f) * s[1] + gate(i) * np.tanh(g)
        return [gate(o) * np.tanh(c), c]

    return step


def gru(w, u, b, gate=sigmoid) -> Step:
    """A GRU with two biases, whose reset gate comes after the product, or with one and the gate before."""

    def step(x, s):
        (h,) = s
        after = np.ndim(b) == 2
        x_z, x_r, x_h = np.split(x @ w + (b[0] if after else b), 3, -1)
        u_z, u_r, u_h = np.split(u, 3, -1)
        b_z, b_r, b_h = np.split(b[1], 3) if after else (0, 0, 0)
        z, r = gate(x_z + h @ u_z + b_z), gate(x_r + h @ u_r + b_r)
        new = np.tanh(x_h + (r * (h @ u_h + b_h) if after else (r * h) @ u_h))
        return [z * h + (1 - z) * new]

    return step


def run(
    step: Step,
    x: np.ndarray,
    states: Sequence[np.ndarray],
    mask: np.ndarray | None = None,
    *,
    zeros: bool = False,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """All outputs, (batch, time, units), and the last states; masked steps repeat the output or are zeros."""
    states, outputs = list(states), []
    shown = np.zeros_like(states[0])
    for t in range(x.shape[1]):
        new = step(x[:, t], states)
        live = np.ones(len(x), bool) if mask is None else mask[:, t]
        states = [np.where(live[:, None], n, s) for n, s in zip(new, states, strict=True)]
        shown = np.where(live[:, None], new[0], np.zeros_like(shown) if zeros else shown)
        outputs.append(shown)
    return np.stack(outputs, 1), states
