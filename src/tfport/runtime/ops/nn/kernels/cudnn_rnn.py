"""CudnnRNN of all versions: TensorFlow has them on GPUs only, here they run anywhere."""

from __future__ import annotations

import numpy as np

from tfport.errors import CannotRun, RunFailed
from tfport.runtime.lower import host, shapes
from tfport.runtime.ops.nn import recurrence
from tfport.runtime.ops.nn.cudnn_params import Form


def _refuse_training(is_training, dropout, num_proj=0):
    if is_training and dropout > 0:
        raise CannotRun("dropout while training is not computed")
    if num_proj:
        raise CannotRun("an LSTM with a projection is not computed")


@host("CudnnRNN")
def cudnn_rnn(
    input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _refuse_training(is_training, dropout)
    answers = _layers(input, input_h, input_c, params, rnn_mode, input_mode, direction)
    return (*answers, np.zeros(0, input.dtype))


@host("CudnnRNNV2")
def cudnn_rnn_v2(
    input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _refuse_training(is_training, dropout)
    answers = _layers(input, input_h, input_c, params, rnn_mode, input_mode, direction)
    return (*answers, np.zeros(0, input.dtype), np.zeros(0, np.int8))


@host("CudnnRNNV3")
def cudnn_rnn_v3(
    input, input_h, input_c, params, sequence_lengths, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, is_training, time_major,
):  # fmt: skip
    _refuse_training(is_training, dropout, num_proj)
    if not time_major:
        input, input_h, input_c = (
            np.swapaxes(one, 0, 1) for one in (input, input_h, _cells(input_c, input_h))
        )
    lengths = np.asarray(sequence_lengths)
    if lengths.shape != (input.shape[1],):
        raise RunFailed(f"{input.shape[1]} sequences have lengths of shape {lengths.shape}")
    if lengths.size and (lengths.min() < 0 or lengths.max() > len(input)):
        raise RunFailed(f"sequences of {len(input)} steps cannot have lengths {lengths.tolist()}")
    answers = _layers(input, input_h, input_c, params, rnn_mode, input_mode, direction, lengths)
    if not time_major:
        answers = [np.ascontiguousarray(np.swapaxes(one, 0, 1)) if one.ndim == 3 else one for one in answers]
    return (*answers, np.zeros(0, input.dtype), np.zeros(0, np.int8))


def _cells(input_c, input_h):
    """Only an LSTM has cells; the others are given anything for them."""
    return input_c if np.ndim(input_c) == 3 else input_h


@shapes("CudnnRNN")
def _shapes(inputs, attrs):
    return [*_answer_shapes(inputs, attrs), (None,)]


@shapes("CudnnRNNV2 CudnnRNNV3")
def _shapes_v2(inputs, attrs):
    return [*_answer_shapes(inputs, attrs), (None,), (None,)]


def _answer_shapes(inputs, attrs):
    x, h = inputs[0].shape, inputs[1].shape
    out = None
    if x is not None and h is not None and len(x) == len(h) == 3:
        units = h[2]
        out = (x[0], x[1], units and units * (2 if attrs["direction"] == "bidirectional" else 1))
    return [out, h, h if attrs["rnn_mode"] == "lstm" else None]


def _layers(x, h, c, params, mode, input_mode, direction, lengths=None):
    """All outputs, and the last states of all layers."""
    if x.ndim != 3 or h.ndim != 3 or h.shape[1] != x.shape[1]:
        raise RunFailed(f"an input of shape {x.shape} with a state of shape {h.shape}")
    directions = 2 if direction == "bidirectional" else 1
    kind = x.dtype
    wide = np.float32 if kind.itemsize == 2 else kind
    x, h, c, params = (np.asarray(one, wide) for one in (x, h, c, params))
    form = Form.of(mode, input_mode, direction, len(h) // directions, h.shape[2], x.shape[2])
    last_h, last_c = [], []
    for layer, parts in enumerate(form.layer_parts(params)):
        outputs = []
        for way, (w, r, wb, rb) in enumerate(parts):
            at = layer * directions + way
            given = recurrence.reversed_in_time(x, lengths) if way else x
            answer = _layer(mode, given, h[at], c[at] if mode == "lstm" else None, w, r, wb, rb, lengths)
            outputs.append(recurrence.reversed_in_time(answer[0], lengths) if way else answer[0])
            last_h.append(answer[1])
            last_c.extend(answer[2:])
        x = np.concatenate(outputs, axis=-1)
    cells = np.stack(last_c) if last_c else np.zeros(0, wide)
    return [np.asarray(one, kind) for one in (x, np.stack(last_h), cells)]


def _layer(mode, x, h, c, w, r, wb, rb, lengths):
    if mode == "lstm":
        return recurrence.lstm(x, h, c, w.T, r.T, wb + rb, lengths)
    if mode == "gru":
        return recurrence.gru(x, h, w.T, r.T, wb, rb, lengths)
    activation = np.tanh if mode == "rnn_tanh" else lambda value: np.maximum(value, 0)
    return recurrence.plain(x, h, w.T, r.T, wb + rb, activation, lengths)


def _form(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj=0):
    _refuse_training(False, 0, num_proj)
    return Form.of(rnn_mode, input_mode, direction, int(num_layers), int(num_units), int(input_size))


@host("CudnnRNNParamsSize")
def params_size(
    num_layers, num_units, input_size, *,
    T, S, rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj,
):  # fmt: skip
    form = _form(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return np.array([form.size])


@host("CudnnRNNParamsToCanonical")
def params_to_canonical(
    num_layers, num_units, input_size, params, *,
    num_params, rnn_mode, input_mode, direction, dropout, seed, seed2,
):  # fmt: skip
    form = _form(num_layers, num_units, input_size, rnn_mode, input_mode, direction)
    return _counted(form.parts(params), num_params, num_params)


@host("CudnnRNNParamsToCanonicalV2")
def params_to_canonical_v2(
    num_layers, num_units, input_size, params, *,
    num_params_weights, num_params_biases, rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj,
):  # fmt: skip
    form = _form(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return _counted(form.parts(params), num_params_weights, num_params_biases)


def _counted(parts, weights, biases):
    if (len(parts[0]), len(parts[1])) != (weights, biases):
        raise RunFailed(
            f"there are {len(parts[0])} matrices and {len(parts[1])} biases, not {weights} and {biases}"
        )
    return parts


@host("CudnnRNNCanonicalToParams")
def canonical_to_params(
    num_layers, num_units, input_size, weights, biases, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2,
):  # fmt: skip
    form = _form(num_layers, num_units, input_size, rnn_mode, input_mode, direction)
    return _vector(form, weights, biases)


@host("CudnnRNNCanonicalToParamsV2")
def canonical_to_params_v2(
    num_layers, num_units, input_size, weights, biases, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj,
):  # fmt: skip
    form = _form(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return _vector(form, weights, biases)


def _vector(form, weights, biases):
    params = np.concatenate([one.reshape(-1) for one in (*weights, *biases)])
    if params.size != form.size:
        raise RunFailed(f"expected {form.size} weights, found {params.size}")
    return params
