"""Floats rounded to the steps of a constant range, in ONNX: what quantization-aware training leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.quantized.kernels.fake_quant import nudged
from tfport.runtime.ops.quantized.kernels.quantize import range_of_steps


def _faked(
    b: Builder, x: Operand, low: Any, high: Any, num_bits: int, narrow_range: bool, by_step: bool = False
) -> Operand:
    """The same operations in the same order as on the host, so that halves round alike."""
    if np.any(low >= high):
        raise CannotLower("its range is empty")
    start, end, scale = nudged(low, high, num_bits, narrow_range)
    per_unit = np.float32((1 << num_bits) - 1 - narrow_range) / (high - low)
    const = {
        name: b.const(value, FLOAT32) for name, value in (("start", start), ("end", end), ("step", scale))
    }
    kept = b.Min(b.Max(x, const["start"]), const["end"])
    moved = b.Sub(kept, const["start"])
    steps = b.Div(moved, const["step"]) if by_step else b.Mul(moved, b.const(per_unit, FLOAT32))
    whole = b.Floor(b.Add(steps, b.const(0.5, FLOAT32)))
    return b.Add(b.Mul(whole, const["step"]), const["start"])


@lower("FakeQuantWithMinMaxArgs")
def with_args(b, inputs, *, min, max, num_bits, narrow_range):
    return _faked(b, inputs, np.float32(min), np.float32(max), num_bits, narrow_range)


@lower("FakeQuantWithMinMaxVars")
def with_vars(b, inputs, min, max, *, num_bits, narrow_range):
    low, high = (_single(o) for o in (min, max))
    return _faked(b, inputs, low, high, num_bits, narrow_range, by_step=True)


@lower("FakeQuantWithMinMaxVarsPerChannel")
def with_vars_per_channel(b, inputs, min, max, *, num_bits, narrow_range):
    low, high = (constant_of(o, "the range") for o in (min, max))
    if rank_of(inputs) < 1 or inputs.shape[-1] != len(low) or low.shape != high.shape:
        raise CannotLower("it is not known that the ranges fit")
    return _faked(b, inputs, low, high, num_bits, narrow_range)


def _single(operand: Operand) -> np.float32:
    array = constant_of(operand, "the range")
    if array.size != 1:
        raise CannotLower("the range is not one")
    return np.float32(array.reshape(-1)[0])


@lower("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4", range_given=(True,), axis=(-1,))
def quantize_and_dequantize(
    b, input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, axis
):
    return _there_and_back(b, input, input_min, input_max, signed_input, num_bits, round_mode, narrow_range)


@lower("QuantizeAndDequantizeV3", range_given=(True,), axis=(-1,))
def quantize_and_dequantize_v3(
    b, input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range, axis
):
    bits = int(constant_of(num_bits, "the number of bits"))
    return _there_and_back(b, input, input_min, input_max, signed_input, bits, "HALF_TO_EVEN", narrow_range)


def _there_and_back(
    b: Builder,
    x: Operand,
    input_min: Operand,
    input_max: Operand,
    signed: bool,
    bits: int,
    round_mode: str,
    narrow: bool,
) -> Operand:
    ends = [constant_of(o, "the range").astype(x.dtype.numpy).reshape(()) for o in (input_min, input_max)]
    if not ends[0] < ends[1] or not 1 <= bits <= 32:
        raise CannotLower("its range is empty")
    low, high, scale, back = (b.const(v, x.dtype) for v in range_of_steps(signed, bits, narrow, *ends))
    scaled = b.Mul(b.Min(b.Max(x, low), high), scale)
    whole = b.Round(scaled) if round_mode == "HALF_TO_EVEN" else b.Floor(b.Add(scaled, b.const(0.5, x.dtype)))
    return b.Mul(whole, back)
