"""CudnnRNN as LSTM, GRU and RNN of ONNX, one node for each layer; the weights must be known."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT32, DType
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.ops.nn.cudnn_params import Form

INT8, FLOAT64 = DType.parse("int8"), DType.parse("float64")
_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_relu": (0,), "rnn_tanh": (0,)}
"""Where ONNX's gates (i, o, f, c; z, r, h) stand in cuDNN's (i, f, c, o; r, z, h)."""


@lower("CudnnRNN")
def cudnn_rnn(
    b, input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _refuse_training(is_training, dropout)
    answers = _layers(b, input, input_h, input_c, params, rnn_mode, input_mode, direction, None)
    return (*answers, b.const([], input.dtype))


@lower("CudnnRNNV2")
def cudnn_rnn_v2(
    b, input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _refuse_training(is_training, dropout)
    answers = _layers(b, input, input_h, input_c, params, rnn_mode, input_mode, direction, None)
    return (*answers, b.const([], input.dtype), b.const([], INT8))


@lower("CudnnRNNV3")
def cudnn_rnn_v3(
    b, input, input_h, input_c, params, sequence_lengths, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, is_training, time_major,
):  # fmt: skip
    _refuse_training(is_training, dropout, num_proj)
    turned = (1, 0, 2)
    if not time_major:
        input, input_h = b.transpose(input, turned), b.transpose(input_h, turned)
        input_c = b.transpose(input_c, turned) if rnn_mode == "lstm" else input_c
    lengths = b.cast(sequence_lengths, INT32)
    y, h, c = _layers(b, input, input_h, input_c, params, rnn_mode, input_mode, direction, lengths)
    if not time_major:
        y, h = b.transpose(y, turned), b.transpose(h, turned)
        c = b.transpose(c, turned) if rnn_mode == "lstm" else c
    return y, h, c, b.const([], input.dtype), b.const([], INT8)


def _refuse_training(is_training, dropout, num_proj=0):
    if (is_training and dropout > 0) or num_proj:
        raise CannotLower("dropout and projections")


def _layers(b, x, h, c, params, mode, input_mode, direction, lengths):
    if x.rank != 3 or h.shape is None or h.rank != 3 or None in (h.shape[0], h.shape[2], x.shape[2]):
        raise CannotLower("the sizes of the layers are not known")
    if x.dtype == FLOAT64:
        raise CannotLower("engines have no recurrent layers of doubles")
    directions = 2 if direction == "bidirectional" else 1
    form = Form.of(mode, input_mode, direction, h.shape[0] // directions, h.shape[2], x.shape[2])
    last_h, last_c = [], []
    for layer, parts in enumerate(form.layer_parts(constant_of(params, "the vector of weights"))):
        at = layer * directions
        first_h = b.Slice(h, b.ints(at), b.ints(at + directions), b.ints(0))
        given = {}
        if mode == "lstm":
            given["first_c"] = b.Slice(c, b.ints(at), b.ints(at + directions), b.ints(0))
        x, h_n, c_n = _layer(b, mode, x, first_h, parts, form.units, lengths, **given)
        last_h.append(h_n)
        last_c.append(c_n)
    if mode != "lstm":
        return x, _joined(b, last_h), b.const([], x.dtype)
    return x, _joined(b, last_h), _joined(b, last_c)


def _joined(b, states):
    return states[0] if len(states) == 1 else b.Concat(*states, axis=0)


def _unless_empty(b, x, lengths, first, last):
    """The last state; of a sequence without steps the engine answers zeros, and it is the first."""
    if lengths is None and x.shape[0]:
        return last
    count = b.Shape(x, start=0, end=1) if lengths is None else b.unsqueeze(b.int64(lengths), 0, 2)
    return b.Where(b.Equal(count, b.ints(0)), first, last)


def _layer(b, mode, x, first_h, parts, units, lengths, first_c=None):
    def ordered(matrix):
        gates = np.split(matrix, len(_ORDER[mode]))
        return np.concatenate([gates[place] for place in _ORDER[mode]])

    w = b.const(np.stack([ordered(w) for w, _, _, _ in parts]), x.dtype)
    r = b.const(np.stack([ordered(r) for _, r, _, _ in parts]), x.dtype)
    bias = b.const(np.stack([np.concatenate([ordered(wb), ordered(rb)]) for *_, wb, rb in parts]), x.dtype)
    attrs = {"hidden_size": units, "direction": "bidirectional" if len(parts) == 2 else "forward"}
    inputs = [x, w, r, bias, lengths, first_h]
    shapes = [(x.shape[0], len(parts), x.shape[1], units), *[(len(parts), x.shape[1], units)] * 2]
    if mode == "lstm":
        y, h, c = b.nodes("LSTM", *inputs, first_c, outputs=3, dtype=x.dtype, shape=shapes, **attrs)
        c = _unless_empty(b, x, lengths, first_c, c)
    else:
        if mode == "gru":
            attrs["linear_before_reset"] = 1
        else:
            attrs["activations"] = ["Relu" if mode == "rnn_relu" else "Tanh"] * len(parts)
        op = "GRU" if mode == "gru" else "RNN"
        y, h = b.nodes(op, *inputs, outputs=2, dtype=x.dtype, shape=shapes[:2], **attrs)
        c = None
    h = _unless_empty(b, x, lengths, first_h, h)
    if len(parts) == 1:
        return b.squeeze(y, 1), h, c
    side_by_side = b.transpose(y, (0, 2, 1, 3))
    return b.reshape(side_by_side, 0, 0, len(parts) * units), h, c
