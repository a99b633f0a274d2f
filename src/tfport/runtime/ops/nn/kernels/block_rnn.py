"""Fused recurrent cells (BlockLSTM, LSTMBlockCell, GRUBlockCell), which also output their gates."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import sigmoid, widen

_ICFO, _IFCO = (0, 1, 2, 3), (0, 2, 1, 3)
"""The positions of the gates i, c, f, o in the matrices."""


@host("LSTMBlockCell")
def lstm_block_cell(x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    _check_weights(x, h_prev, w, b, 4)
    peepholes = (wci, wcf, wco) if use_peephole else None
    x, cs_prev, h_prev, w, b = _widened(x, cs_prev, h_prev, w, b)
    return _cell(x, cs_prev, h_prev, w, b, peepholes, forget_bias, cell_clip, _ICFO)


@host("BlockLSTM")
def block_lstm(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    peepholes = (wci, wcf, wco) if use_peephole else None
    return _over_time(seq_len_max, x, cs_prev, h_prev, w, b, peepholes, forget_bias, cell_clip, _ICFO)


@host("BlockLSTMV2")
def block_lstm_v2(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, cell_clip, use_peephole):
    peepholes = (wci, wcf, wco) if use_peephole else None
    return _over_time(seq_len_max, x, cs_prev, h_prev, w, b, peepholes, 0.0, cell_clip, _IFCO)


def _widened(*arrays):
    """The arrays with float16 and bfloat16 as float32."""
    return [widen(array) for array in arrays]


def _check_weights(x, h_prev, w, b, gates):
    units = h_prev.shape[-1]
    if w.shape != (x.shape[-1] + units, gates * units) or b.shape != (gates * units,):
        raise RunFailed(
            f"the weights must have shapes {(x.shape[-1] + units, gates * units)} and {(gates * units,)}, "
            f"found {w.shape} and {b.shape}"
        )


def _over_time(seq_len_max, x, cs, h, w, b, peepholes, forget_bias, cell_clip, order):
    _check_weights(x, h, w, b, 4)
    if x.ndim != 3 or x.shape[1:2] != h.shape[:1] or cs.shape != h.shape:
        raise RunFailed(
            f"input and states must have shapes (time, batch, inputs) and (batch, units), "
            f"found {x.shape}, {cs.shape} and {h.shape}"
        )
    dtype = x.dtype
    x, cs, h, w, b = _widened(x, cs, h, w, b)
    steps, length = len(x), int(seq_len_max)
    if not 0 <= length <= steps:
        raise RunFailed(f"seq_len_max must be in [0, {steps}], found {length}")
    outputs = np.zeros((7, steps, *h.shape), dtype)
    for time in range(length):
        gates = _cell(x[time], cs, h, w, b, peepholes, forget_bias, cell_clip, order)
        outputs[:, time] = gates
        cs, h = gates[1], gates[6]
    return tuple(outputs)


def _cell(x, cs_prev, h_prev, w, b, peepholes, forget_bias, cell_clip, order):
    """The outputs i, cs, f, o, ci, co, h of one step."""
    all_gates = np.split(np.concatenate([x, h_prev], axis=1) @ w + b, 4, axis=1)
    i, ci, f, o = (all_gates[index] for index in order)
    f = f + x.dtype.type(forget_bias)
    if peepholes:
        i, f = i + cs_prev * peepholes[0], f + cs_prev * peepholes[1]
    i, f, ci = sigmoid(i), sigmoid(f), np.tanh(ci)
    cs = ci * i + cs_prev * f
    if cell_clip > 0:
        cs = np.clip(cs, -cell_clip, cell_clip)
    if peepholes:
        o = o + cs * peepholes[2]
    o, co = sigmoid(o), np.tanh(cs)
    return i, cs, f, o, ci, co, co * o


@host("GRUBlockCell")
def gru_block_cell(x, h_prev, w_ru, w_c, b_ru, b_c):
    _check_weights(x, h_prev, w_ru, b_ru, 2)
    _check_weights(x, h_prev, w_c, b_c, 1)
    x, h_prev, w_ru, w_c, b_ru, b_c = _widened(x, h_prev, w_ru, w_c, b_ru, b_c)
    r, u = np.split(sigmoid(np.concatenate([x, h_prev], axis=1) @ w_ru + b_ru), 2, axis=1)
    c = np.tanh(np.concatenate([x, h_prev * r], axis=1) @ w_c + b_c)
    return r, u, c, (1 - u) * c + u * h_prev
