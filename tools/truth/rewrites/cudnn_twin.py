"""What cuDNN's recurrent layers compute, in TensorFlow's ordinary ops; and their weights as cuDNN packs them.

Gates of an LSTM are i, f, g, o and those of a GRU r, z, n, each with a bias on both sides:
cuDNN's own order. Each direction of each layer is a part. cuDNN's vector has the matrices of all
parts, those of the input before those of the state, and then all biases.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

SEED = 11
GATES = {"lstm": 4, "gru": 3}
State = tuple[tf.Tensor, tf.Tensor | None]
Cell = Callable[[tf.Tensor, State], State]


@dataclass(frozen=True)
class Part:
    """One direction of one layer: [gate, unit, input], [gate, unit, unit], [gate, unit], [gate, unit]."""

    of_input: np.ndarray
    of_state: np.ndarray
    input_bias: np.ndarray
    state_bias: np.ndarray


def parts_for(mode: str, width: int, units: int, *, count: int = 1, directions: int = 1) -> list[Part]:
    """Random weights, layer by layer and in it direction by direction."""
    rng, gates = np.random.default_rng(SEED), GATES[mode]

    def some(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    widths = [width] + [units * directions] * (count - 1)
    return [
        Part(some(gates, units, w), some(gates, units, units), some(gates, units), some(gates, units))
        for w in widths
        for _ in range(directions)
    ]


def packed(parts: list[Part]) -> np.ndarray:
    matrices = [m.ravel() for part in parts for m in (part.of_input, part.of_state)]
    biases = [b.ravel() for part in parts for b in (part.input_bias, part.state_bias)]
    return np.concatenate(matrices + biases)


def lstm_cell(part: Part) -> Cell:
    def step(x: tf.Tensor, state: State) -> State:
        h, c = state
        of_input, of_state = sums(x, part.of_input, part.input_bias), sums(h, part.of_state, part.state_bias)
        i, f, g, o = (a + b for a, b in zip(of_input, of_state, strict=True))
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    return step


def gru_cell(part: Part) -> Cell:
    def step(x: tf.Tensor, state: State) -> State:
        h, _ = state
        xr, xz, xn = sums(x, part.of_input, part.input_bias)
        hr, hz, hn = sums(h, part.of_state, part.state_bias)
        new = tf.tanh(xn + tf.sigmoid(xr + hr) * hn)
        z = tf.sigmoid(xz + hz)
        return (1 - z) * new + z * h, None

    return step


def sums(x: tf.Tensor, matrices: np.ndarray, biases: np.ndarray) -> list[tf.Tensor]:
    return [tf.matmul(x, m, transpose_b=True) + b for m, b in zip(matrices, biases, strict=True)]


def unrolled(cell: Cell, inputs: tf.Tensor, steps: int, h, c=None, lengths=None, backwards: bool = False):
    """The cell over the steps; behind the length of a sequence the output is zero and the state stays."""
    outputs: list = [None] * steps
    for t in reversed(range(steps)) if backwards else range(steps):
        new_h, new_c = cell(inputs[t], (h, c))
        outputs[t] = new_h
        if lengths is not None:
            inside = (t < lengths)[:, None]
            outputs[t] = tf.where(inside, new_h, 0.0)
            new_h, new_c = tf.where(inside, new_h, h), tf.where(inside, new_c, c)
        h, c = new_h, new_c
    return tf.stack(outputs), h, c


def bidirectional(parts: list[Part], inputs: tf.Tensor, steps: int, h: tf.Tensor, c: tf.Tensor):
    """Layers of LSTMs in both directions, each fed with the two outputs of the one before."""
    last_h, last_c = [], []
    for layer in range(len(parts) // 2):
        both = []
        for direction in range(2):
            i = 2 * layer + direction
            output = unrolled(lstm_cell(parts[i]), inputs, steps, h[i], c[i], backwards=bool(direction))
            both.append(output[0])
            last_h.append(output[1])
            last_c.append(output[2])
        inputs = tf.concat(both, 2)
    return inputs, tf.stack(last_h), tf.stack(last_c)
