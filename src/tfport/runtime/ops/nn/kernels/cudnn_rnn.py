"""CudnnRNN ops, which TensorFlow runs only on GPUs, and their weight vectors."""

from __future__ import annotations

import numpy as np

from tfport.errors import CannotRun, RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn import recurrence
from tfport.runtime.ops.nn.cudnn_params import CudnnRnnConfig


def _check_supported(is_training, dropout, num_proj=0):
    if is_training and dropout > 0:
        raise CannotRun("dropout during training is unsupported")
    if num_proj:
        raise CannotRun("LSTM projection (num_proj) is unsupported")


@host("CudnnRNN")
def cudnn_rnn(
    input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _check_supported(is_training, dropout)
    outputs = _layers(input, input_h, input_c, params, rnn_mode, input_mode, direction)
    return (*outputs, np.zeros(0, input.dtype))


@host("CudnnRNNV2")
def cudnn_rnn_v2(
    input, input_h, input_c, params, *, rnn_mode, input_mode, direction, dropout, seed, seed2, is_training
):
    _check_supported(is_training, dropout)
    outputs = _layers(input, input_h, input_c, params, rnn_mode, input_mode, direction)
    return (*outputs, np.zeros(0, input.dtype), np.zeros(0, np.int8))


@host("CudnnRNNV3")
def cudnn_rnn_v3(
    input, input_h, input_c, params, sequence_lengths, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, is_training, time_major,
):  # fmt: skip
    _check_supported(is_training, dropout, num_proj)
    if not time_major:
        input, input_h, input_c = (
            np.swapaxes(array, 0, 1) for array in (input, input_h, _cells(input_c, input_h))
        )
    lengths = np.asarray(sequence_lengths)
    if lengths.shape != (input.shape[1],):
        raise RunFailed(f"sequence_lengths must have shape {input.shape[1:2]}, found {lengths.shape}")
    if lengths.size and (lengths.min() < 0 or lengths.max() > len(input)):
        raise RunFailed(f"sequence_lengths must be in [0, {len(input)}], found {lengths.tolist()}")
    outputs = _layers(input, input_h, input_c, params, rnn_mode, input_mode, direction, lengths)
    if not time_major:
        outputs = [np.ascontiguousarray(np.swapaxes(y, 0, 1)) if y.ndim == 3 else y for y in outputs]
    return (*outputs, np.zeros(0, input.dtype), np.zeros(0, np.int8))


def _cells(input_c, input_h):
    """The cell states; only an LSTM has them, and other modes ignore this input."""
    return input_c if np.ndim(input_c) == 3 else input_h


def _layers(x, h, c, params, mode, input_mode, direction, lengths=None):
    """The outputs, and the final states of all layers."""
    if x.ndim != 3 or h.ndim != 3 or h.shape[1] != x.shape[1]:
        raise RunFailed(
            f"input and input_h must have shapes (time, batch, inputs) and (layers, batch, units), "
            f"found {x.shape} and {h.shape}"
        )
    directions = 2 if direction == "bidirectional" else 1
    dtype = x.dtype
    wide = np.float32 if dtype.itemsize == 2 else dtype
    x, h, c, params = (np.asarray(array, wide) for array in (x, h, c, params))
    config = CudnnRnnConfig.of(mode, input_mode, direction, len(h) // directions, h.shape[2], x.shape[2])
    last_h, last_c = [], []
    for layer, parts in enumerate(config.layer_parts(params)):
        outputs = []
        for backward, (w, r, wb, rb) in enumerate(parts):
            i = layer * directions + backward
            sequence = recurrence.reverse_sequences(x, lengths) if backward else x
            y, h_n, *c_n = _layer(
                mode, sequence, h[i], c[i] if mode == "lstm" else None, w, r, wb, rb, lengths
            )
            outputs.append(recurrence.reverse_sequences(y, lengths) if backward else y)
            last_h.append(h_n)
            last_c.extend(c_n)
        x = np.concatenate(outputs, axis=-1)
    cells = np.stack(last_c) if last_c else np.zeros(0, wide)
    return [np.asarray(array, dtype) for array in (x, np.stack(last_h), cells)]


def _layer(mode, x, h, c, w, r, wb, rb, lengths):
    if mode == "lstm":
        return recurrence.lstm(x, h, c, w.T, r.T, wb + rb, lengths)
    if mode == "gru":
        return recurrence.gru(x, h, w.T, r.T, wb, rb, lengths)
    activation = np.tanh if mode == "rnn_tanh" else lambda value: np.maximum(value, 0)
    return recurrence.simple_rnn(x, h, w.T, r.T, wb + rb, activation, lengths)


def _config(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj=0):
    _check_supported(False, 0, num_proj)
    return CudnnRnnConfig.of(
        rnn_mode, input_mode, direction, int(num_layers), int(num_units), int(input_size)
    )


@host("CudnnRNNParamsSize")
def params_size(
    num_layers, num_units, input_size, *,
    T, S, rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj,
):  # fmt: skip
    config = _config(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return np.array([config.size])


@host("CudnnRNNParamsToCanonical")
def params_to_canonical(
    num_layers, num_units, input_size, params, *,
    num_params, rnn_mode, input_mode, direction, dropout, seed, seed2,
):  # fmt: skip
    config = _config(num_layers, num_units, input_size, rnn_mode, input_mode, direction)
    return _check_counts(config.parts(params), num_params, num_params)


@host("CudnnRNNParamsToCanonicalV2")
def params_to_canonical_v2(
    num_layers, num_units, input_size, params, *,
    num_params_weights, num_params_biases, rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj,
):  # fmt: skip
    config = _config(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return _check_counts(config.parts(params), num_params_weights, num_params_biases)


def _check_counts(parts, weights, biases):
    if (len(parts[0]), len(parts[1])) != (weights, biases):
        raise RunFailed(
            f"expected {len(parts[0])} matrices and {len(parts[1])} biases, found {weights} and {biases}"
        )
    return parts


@host("CudnnRNNCanonicalToParams")
def canonical_to_params(
    num_layers, num_units, input_size, weights, biases, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2,
):  # fmt: skip
    config = _config(num_layers, num_units, input_size, rnn_mode, input_mode, direction)
    return _vector(config, weights, biases)


@host("CudnnRNNCanonicalToParamsV2")
def canonical_to_params_v2(
    num_layers, num_units, input_size, weights, biases, *,
    rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj,
):  # fmt: skip
    config = _config(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return _vector(config, weights, biases)


def _vector(config, weights, biases):
    params = np.concatenate([array.reshape(-1) for array in (*weights, *biases)])
    if params.size != config.size:
        raise RunFailed(f"expected {config.size} weights, found {params.size}")
    return params
