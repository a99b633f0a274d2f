"""Recurrent layers of TensorFlow Lite: sequences are (time, batch, features).

The gates of an LSTM are those of input, forget, cell and output. Empty weights are left out: peepholes
from the cell to the gates of input, forget and output; normalization of the sums of the gates; a
projection of the output. `rounding` is that of hybrid kernels (`hybrid_input`).
"""

from __future__ import annotations

import math

import numpy as np

from tfport.errors import CannotRun
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import sigmoid

ACTIVATIONS = {
    "NONE": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "TANH": np.tanh,
}
EPSILON = np.float32(1e-8)


@host("LiteLstm")
def lstm(
    x, weights, recurrent, bias, peephole, norm, projection, projection_bias, output_state, cell_state,
    *, activation, cell_clip, projection_clip, rounding,
):  # fmt: skip
    activate = _activation(activation)
    output, cell, outputs = output_state, cell_state, []
    sums = x @ weights.T + (0 if norm.size else bias)
    into, forget_from, out_of = np.split(peephole, 3) if peephole.size else (0, 0, 0)
    for step in sums:
        gates = np.split(step + _rounded(output, rounding) @ recurrent.T, 4, axis=1)
        gates = [gates[0] + into * cell, gates[1] + forget_from * cell, gates[2], gates[3]]
        scales, shifts = (np.split(norm, 4), np.split(bias, 4)) if norm.size else ([None] * 4, [None] * 4)
        enter, forget = (sigmoid(_normal(gates[i], scales[i], shifts[i])) for i in range(2))
        cell = forget * cell + enter * activate(_normal(gates[2], scales[2], shifts[2]))
        if cell_clip > 0:
            cell = np.clip(cell, -cell_clip, cell_clip)
        leave = sigmoid(_normal(gates[3] + out_of * cell, scales[3], shifts[3]))
        output = leave * activate(cell)
        if projection.size:
            output = _rounded(output, rounding) @ projection.T
            output = output + projection_bias if projection_bias.size else output
            output = np.clip(output, -projection_clip, projection_clip) if projection_clip > 0 else output
        outputs.append(output)
    y = np.stack(outputs) if outputs else np.zeros((0, *output.shape), x.dtype)
    return y.astype(x.dtype), output.astype(x.dtype), cell.astype(x.dtype)


@host("LiteRnn")
def rnn(x, weights, recurrent, bias, state, *, activation, rounding):
    activate, outputs = _activation(activation), []
    for step in x @ weights.T + bias:
        state = activate(step + _rounded(state, rounding) @ recurrent.T)
        outputs.append(state)
    return np.stack(outputs) if outputs else np.zeros((0, *state.shape), x.dtype), state


def _activation(name):
    function = ACTIVATIONS.get(name)
    if function is None:
        raise CannotRun(f"the activation {name} is not supported")
    return function


def _rounded(x, rounding):
    return hybrid_input(x, asymmetric=rounding == "asymmetric", axis=1) if rounding else x


def _normal(x, scale, shift):
    if scale is None:
        return x
    apart = x - x.mean(axis=1, keepdims=True)
    variance = (apart * apart).mean(axis=1, keepdims=True)
    return apart / np.sqrt(variance + EPSILON) * scale + shift


@host("LiteHybridInput")
def hybrid_input(x, *, asymmetric, axis):
    """Activations rounded to the 8-bit steps of their rows, as hybrid kernels do.

    The steps are symmetric (-127 to 127, zero at 0) or asymmetric (-128 to 127, zero at a rounded point).
    Halves are rounded away from zero.
    """
    if not x.size:
        return x
    if asymmetric and math.prod(x.shape[:axis]) == 1:
        return _one_row(x)
    axes = tuple(range(axis, x.ndim))
    low, high = x.min(axes, keepdims=True), x.max(axes, keepdims=True)
    if asymmetric:
        return _asymmetric(x, np.minimum(low, 0), np.maximum(high, 0))
    bound = np.maximum(abs(low), abs(high))
    with np.errstate(divide="ignore"):
        steps = np.where(bound, np.float32(127) / bound, np.float32(0))
    return np.clip(_round(x * steps), -127, 127) * (bound / np.float32(127))


def _one_row(x):
    """The same as `_asymmetric` where there is one row, as in each step of a recurrent layer.

    Numbers of Python take a tenth of the time of arrays of one element.
    """
    low, high = float(x.min()), float(x.max())
    if not math.isfinite(high - low):
        shape = (1,) * x.ndim
        return _asymmetric(
            x, np.full(shape, np.minimum(low, 0), "f"), np.full(shape, np.maximum(high, 0), "f")
        )
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255 or 1.0
    below, above = low / scale, high / scale
    exact = -128 - below if 128 - below < 127 + above else 127 - above
    zero = np.float32(min(max(math.trunc(exact + math.copysign(0.5, exact)), -128), 127))
    step = np.float32(scale)
    q = _round(zero + x * (np.float32(1) / step))
    return (np.minimum(np.maximum(q, np.float32(-128)), np.float32(127)) - zero) * step


def _asymmetric(x, low, high):
    wide_low, wide_high = low.astype(np.float64), high.astype(np.float64)
    scale = (wide_high - wide_low) / 255
    scale[scale == 0] = 1  # a row of zeros stays one
    from_low, from_high = -128 - wide_low / scale, 127 - wide_high / scale
    is_low_nearer = 128 + abs(wide_low / scale) < 127 + abs(wide_high / scale)
    zero = np.clip(_round(np.where(is_low_nearer, from_low, from_high)), -128, 127).astype(np.float32)
    step = scale.astype(np.float32)
    q = np.clip(_round(zero + x * (np.float32(1) / step)), -128, 127)
    return (q - zero) * step


def _round(x):
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))
