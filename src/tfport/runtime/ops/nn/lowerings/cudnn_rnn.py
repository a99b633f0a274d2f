"""CudnnRNN with constant weights, lowered to one ONNX LSTM, GRU or RNN node per layer."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT32, DType
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.ops.nn.cudnn_params import CudnnRnnConfig
from tfport.runtime.ops.nn.empty_batches import refuse_empty_batch

INT8, FLOAT64 = DType.parse("int8"), DType.parse("float64")
_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_relu": (0,), "rnn_tanh": (0,)}
"""The indices of ONNX's gates (i, o, f, c; z, r, h) in cuDNN's order (i, f, c, o; r, z, h)."""


@lower("CudnnRNN")
def cudnn_rnn(
    b, input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _check_supported(is_training, dropout)
    outputs = _layers(b, input, input_h, input_c, params, rnn_mode, input_mode, direction, None)
    return (*outputs, b.const([], input.dtype))


@lower("CudnnRNNV2")
def cudnn_rnn_v2(
    b, input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _check_supported(is_training, dropout)
    outputs = _layers(b, input, input_h, input_c, params, rnn_mode, input_mode, direction, None)
    return (*outputs, b.const([], input.dtype), b.const([], INT8))


@lower("CudnnRNNV3")
def cudnn_rnn_v3(
    b, input, input_h, input_c, params, sequence_lengths, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, is_training, time_major,
):  # fmt: skip
    _check_supported(is_training, dropout, num_proj)
    swapped = (1, 0, 2)
    if not time_major:
        input, input_h = b.transpose(input, swapped), b.transpose(input_h, swapped)
        input_c = b.transpose(input_c, swapped) if rnn_mode == "lstm" else input_c
    lengths = b.cast(sequence_lengths, INT32)
    y, h, c = _layers(b, input, input_h, input_c, params, rnn_mode, input_mode, direction, lengths)
    if not time_major:
        y, h = b.transpose(y, swapped), b.transpose(h, swapped)
        c = b.transpose(c, swapped) if rnn_mode == "lstm" else c
    return y, h, c, b.const([], input.dtype), b.const([], INT8)


def _check_supported(is_training, dropout, num_proj=0):
    if (is_training and dropout > 0) or num_proj:
        raise CannotLower("dropout during training and num_proj are unsupported")


def _layers(b, x, h, c, params, mode, input_mode, direction, lengths):
    if x.rank != 3 or h.shape is None or h.rank != 3 or None in (h.shape[0], h.shape[2], x.shape[2]):
        raise CannotLower("the sizes of the layers are unknown")
    if x.dtype == FLOAT64:
        raise CannotLower("ONNX Runtime has no recurrent layers for float64")
    directions = 2 if direction == "bidirectional" else 1
    config = CudnnRnnConfig.of(mode, input_mode, direction, h.shape[0] // directions, h.shape[2], x.shape[2])
    last_h, last_c = [], []
    for layer, parts in enumerate(config.layer_parts(constant_of(params, "params"))):
        start, end = b.ints(layer * directions), b.ints((layer + 1) * directions)
        first_h = b.Slice(h, start, end, b.ints(0))
        first_c = b.Slice(c, start, end, b.ints(0)) if mode == "lstm" else None
        x, h_n, c_n = _layer(b, mode, x, first_h, parts, config.units, lengths, first_c)
        last_h.append(h_n)
        last_c.append(c_n)
    if mode != "lstm":
        return x, _concatenated(b, last_h), b.const([], x.dtype)
    return x, _concatenated(b, last_h), _concatenated(b, last_c)


def _concatenated(b, states):
    return states[0] if len(states) == 1 else b.Concat(*states, axis=0)


def _final_state(b, x, lengths, first, last):
    """The final state; for an empty sequence the initial state, where ONNX Runtime returns zeros."""
    if lengths is None and x.shape[0]:
        return last
    count = b.Shape(x, start=0, end=1) if lengths is None else b.unsqueeze(b.int64(lengths), 0, 2)
    return b.Where(b.Equal(count, b.ints(0)), first, last)


def _layer(b, mode, x, first_h, parts, units, lengths, first_c):
    def ordered(matrix):
        gates = np.split(matrix, len(_ORDER[mode]))
        return np.concatenate([gates[index] for index in _ORDER[mode]])

    w = b.const(np.stack([ordered(w) for w, _, _, _ in parts]), x.dtype)
    r = b.const(np.stack([ordered(r) for _, r, _, _ in parts]), x.dtype)
    bias = b.const(np.stack([np.concatenate([ordered(wb), ordered(rb)]) for *_, wb, rb in parts]), x.dtype)
    attrs = {"hidden_size": units, "direction": "bidirectional" if len(parts) == 2 else "forward"}
    op = {"lstm": "LSTM", "gru": "GRU"}.get(mode, "RNN")
    inputs = [x, w, r, bias, lengths, refuse_empty_batch(b, op, x, first_h)]
    shapes = [(x.shape[0], len(parts), x.shape[1], units), *[(len(parts), x.shape[1], units)] * 2]
    if mode == "lstm":
        y, h, c = b.nodes(op, *inputs, first_c, outputs=3, dtype=x.dtype, shape=shapes, **attrs)
        c = _final_state(b, x, lengths, first_c, c)
    else:
        if mode == "gru":
            attrs["linear_before_reset"] = 1
        else:
            attrs["activations"] = ["Relu" if mode == "rnn_relu" else "Tanh"] * len(parts)
        y, h = b.nodes(op, *inputs, outputs=2, dtype=x.dtype, shape=shapes[:2], **attrs)
        c = None
    h = _final_state(b, x, lengths, first_h, h)
    if len(parts) == 1:
        return b.squeeze(y, 1), h, c
    side_by_side = b.transpose(y, (0, 2, 1, 3))
    return b.reshape(side_by_side, 0, 0, len(parts) * units), h, c
