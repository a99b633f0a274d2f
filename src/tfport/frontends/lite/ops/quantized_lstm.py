"""LSTM and SVDF layers of quantized tensors: int8 activations and weights, an int16 cell or memory.

The gates of LSTM are those of input, forget, cell and output, in this order; the first may be left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.formats.lite.records import TensorQuantization
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import TANH_BITS, quantized_multiplier, quantized_multipliers
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.quantized_value import INT8, INT16
from tfport.frontends.lite.recurrent import LstmOptions, SvdfOptions, over_time, stacked
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value

GATE_SCALE = np.float32(2.0**-12)
HIDDEN = 4
"""The index of the hidden state among the intermediate tensors."""
CELL_POWERS = range(-30, 2)
"""The powers of two that the kernels can divide by for a cell with this step."""


@quantized("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(
    b: OperatorBuilder,
    x: LiteValue,
    *rest: LiteValue | None,
    time_major: bool,
    diagonal_recurrent_tensors: bool = False,
    options: LstmOptions = LstmOptions,  # type: ignore[assignment]
) -> Value:
    y = _layer(b, x, rest, over_time(b, x, time_major=time_major), options, time_major=time_major)
    return over_time(b, y, time_major=time_major)


@quantized("LSTM")
def lstm(
    b: OperatorBuilder,
    x: LiteValue,
    *rest: LiteValue | None,
    kernel_type: str,
    options: LstmOptions = LstmOptions,  # type: ignore[assignment]
) -> Node:
    """One step."""
    if kernel_type == "BASIC":
        raise b.refuse("the basic kernel is not supported for integers")
    y = _layer(b, x, rest, b.ExpandDims(x, 0).output(0), options, time_major=True)
    return b.Squeeze(y, squeeze_dims=[0])


def _layer(
    b: OperatorBuilder,
    x: LiteValue,
    rest: Sequence[LiteValue | None],
    sequence: Value,
    options: LstmOptions,
    *,
    time_major: bool,
) -> Value:
    """The outputs of a sequence (time, batch, inputs); the states are kept for the next invocation."""
    inputs = [x, *rest, *[None] * (23 - len(rest))]
    state, cell = inputs[18], inputs[19]
    if x.type != "INT8" or state is None or cell is None or cell.type != "INT16":
        raise b.refuse("only int8 with an int16 cell is supported")
    weights, recurrent, bias = (_present(b, inputs[first : first + 4]) for first in (1, 5, 12))
    norm = _present(b, inputs[20:24]) if any(inputs[20:24]) else []
    peephole = [part for part in inputs[9:12] if part is not None]
    attrs = _factors(b, x, state, weights, recurrent, inputs[16], has_norm=bool(norm))
    attrs["cell_power"] = _cell_power(b, cell, has_input_gate=len(weights) == 4)
    attrs |= _clips(cell, b, options.cell_clip, options.proj_clip)
    attrs |= _peephole_factors(b, peephole, len(weights), attrs["cell_power"], has_norm=bool(norm))
    attrs |= _norm_factors(norm)
    if peephole and state.record.shape[-1] > cell.record.shape[-1]:
        raise b.refuse("peepholes of a layer with more outputs than cells are undefined")
    projection = inputs[16] if inputs[16] is not None else b.const(np.zeros((0, 0), np.int8), INT8)
    added = inputs[17] if inputs[17] is not None else b.const(np.zeros(0, np.int32), INT32)
    of_cell, of_norm = (
        stacked(b, parts) if parts else b.const(np.zeros(0, np.int16), INT16) for parts in (peephole, norm)
    )
    node = b.LiteIntegerLstm(
        sequence, stacked(b, weights), stacked(b, recurrent), stacked(b, bias), projection, added, of_cell,
        of_norm, state, cell, gates=len(weights), time_major=time_major, **attrs,
    )  # fmt: skip
    b.keep(18, node.output(1))
    b.keep(19, node.output(2))
    return node.output(0)


def _present(b: OperatorBuilder, parts: Sequence[LiteValue | None]) -> list[LiteValue]:
    present = [part for part in parts if part is not None]
    if len(present) < 3 or any(part is None for part in parts[1:]):
        raise b.refuse("some of its weights are left out")
    return present


def _factors(
    b: OperatorBuilder,
    x: LiteValue,
    state: LiteValue,
    weights: Sequence[LiteValue],
    recurrent: Sequence[LiteValue],
    projection: LiteValue | None,
    *,
    has_norm: bool,
) -> dict[str, Any]:
    """The factors of all products."""
    hidden = _intermediate(b, HIDDEN)
    scale = np.float32(hidden.scale[0])
    steps = _gate_scales(b, len(weights), has_norm=has_norm)
    multiplier, shift = quantized_multipliers(
        float(np.float32(w.scale) * np.float32(x.scale) / s) for w, s in zip(weights, steps, strict=True)
    )
    recurrent_multiplier, recurrent_shift = quantized_multipliers(
        float(np.float32(w.scale) * np.float32(state.scale) / s)
        for w, s in zip(recurrent, steps, strict=True)
    )
    hidden_factor = quantized_multiplier(float(np.float32(2.0**-15 / np.float64(scale) * 2.0**-15)))
    last = np.float32(projection.scale) * scale / np.float32(state.scale) if projection is not None else 0.0
    projection_factor = quantized_multiplier(float(last))
    return {
        "multiplier": multiplier, "shift": shift, "recurrent_multiplier": recurrent_multiplier,
        "recurrent_shift": recurrent_shift, "hidden_multiplier": hidden_factor[0],
        "hidden_shift": hidden_factor[1], "hidden_zero": hidden.zero_point[0] if hidden.zero_point else 0,
        "projection_multiplier": projection_factor[0], "projection_shift": projection_factor[1],
        "x_zero": x.zero_point, "state_zero": state.zero_point,
    }  # fmt: skip


def _intermediate(b: OperatorBuilder, index: int) -> TensorQuantization:
    """The scale of what is between two products: of a gate, or of the hidden state."""
    tensors = b.operator.intermediates
    quantization = b.subgraph.record.tensors[tensors[index]].quantization if len(tensors) > index else None
    if quantization is None or not quantization.scale:
        raise b.refuse("it has no scale of the hidden state")
    return quantization


def _gate_scales(b: OperatorBuilder, gates: int, *, has_norm: bool) -> list[np.float32]:
    """The steps of gates: those of the file before a normalization, otherwise 1/4096."""
    if not has_norm:
        return [GATE_SCALE] * gates
    return [np.float32(_intermediate(b, index).scale[0]) for index in range(4 - gates, 4)]


def _peephole_factors(
    b: OperatorBuilder, peephole: Sequence[LiteValue], gates: int, cell_power: int, *, has_norm: bool
) -> dict[str, list[int]]:
    """The factors of products with the cell, of the gates of input, forget and output."""
    steps = _gate_scales(b, gates, has_norm=has_norm)
    if len(peephole) not in (0, gates - 1):
        raise b.refuse("some of its peepholes are left out")
    scales = [*steps[:-2], steps[-1]]
    multiplier, shift = quantized_multipliers(
        float(np.float32(2.0**cell_power * np.float64(np.float32(w.scale)) / np.float64(s)))
        for w, s in zip(peephole, scales, strict=False)
    )
    return {"peephole_multiplier": multiplier, "peephole_shift": shift}


def _norm_factors(norm: Sequence[LiteValue]) -> dict[str, list[int]]:
    """The factors of normalized gates, and what replaces a variance of zero."""
    multiplier, shift = quantized_multipliers(float(np.float32(w.scale)) for w in norm)
    guards = [max(1, int(np.float32(10000) * np.float32(w.scale))) for w in norm]
    return {"norm_multiplier": multiplier, "norm_shift": shift, "norm_guard": guards}


def _cell_power(b: OperatorBuilder, cell: LiteValue, *, has_input_gate: bool) -> int:
    """The step of the cell as a power of two."""
    exact = math.log2(cell.scale) if cell.scale > 0 else math.inf
    power = round(exact) if math.isfinite(exact) else 0
    if abs(exact - power) >= 1e-3 or power not in CELL_POWERS:
        raise b.refuse(f"the scale of its cell is {cell.scale:g}, not a power of two from 2**-30 to 2")
    if 15 + power not in TANH_BITS and not has_input_gate:
        raise b.refuse(
            f"the scale of its cell is 2**{power}, which the interpreter has no tanh for, and without an "
            "input gate its outputs are undefined; convert the model with a scale from 2**-15 to 2**-9"
        )
    return power


def _clips(cell: LiteValue, b: OperatorBuilder, cell_clip: float, proj_clip: float) -> dict[str, int]:
    """The bounds of the cell and of the projection, in steps; 0 for none."""
    output = b.outputs[0].quantization
    step = output.scale[0] if output and output.scale else 1.0
    return {
        "cell_clip": int(min(cell_clip / cell.scale, 32767.0)) if cell_clip > 0 else 0,
        "projection_clip": int(min(proj_clip / step, 127.0)) if proj_clip > 0 else 0,
    }


# SVDF: an int16 memory of the results of filters


@quantized("SVDF")
def svdf(
    b: OperatorBuilder,
    x: LiteValue,
    features: LiteValue,
    times: LiteValue,
    bias: LiteValue | None,
    state: LiteValue,
    *,
    options: SvdfOptions = SvdfOptions,  # type: ignore[assignment]
) -> Value:
    """The kernel for integers asks for RELU and applies none: the range of the output starts at zero."""
    rank, activation = options.rank, options.fused_activation_function
    if activation != "RELU":
        raise b.refuse(f"the activation {activation} is not supported for integers")
    output = b.outputs[0].quantization
    if output is None or not output.scale or (x.type, state.type, times.type) != ("INT8", "INT16", "INT16"):
        raise b.refuse("only int8 with an int16 state is supported")
    filters = times.record.shape[0]
    if rank < 1 or filters % rank:
        raise b.refuse(f"its rank {rank} does not divide its {filters} filters")
    of_state = np.float32(state.scale)
    multiplier, shift = quantized_multipliers(
        [
            float(np.float32(x.scale) * np.float32(features.scale) / of_state),
            float(of_state * np.float32(times.scale) / np.float32(output.scale[0])),
        ]
    )
    added = b.const(np.zeros(filters // rank, np.int32), INT32) if bias is None else bias
    node = b.LiteIntegerSvdf(
        x, features, times, added, state, rank=rank, multiplier=multiplier, shift=shift, x_zero=x.zero_point,
        y_zero=output.zero_point[0] if output.zero_point else 0,
    )  # fmt: skip
    b.keep(4, node.output(1))
    return node.output(0)
