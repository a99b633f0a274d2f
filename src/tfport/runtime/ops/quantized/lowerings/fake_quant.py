"""Fake quantization with a constant range, lowered to ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.quantized.kernels.fake_quant import nudged


def snapped(
    b: Builder, x: Operand, low: Any, high: Any, num_bits: int, narrow_range: bool, by_step: bool = False
) -> Operand:
    """The operations of the host kernel in the same order, so that halves round the same."""
    if np.any(low >= high):
        raise CannotLower("the range is empty")
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
    return snapped(b, inputs, np.float32(min), np.float32(max), num_bits, narrow_range)


@lower("FakeQuantWithMinMaxVars")
def with_vars(b, inputs, min, max, *, num_bits, narrow_range):
    low, high = (single(o) for o in (min, max))
    return snapped(b, inputs, low, high, num_bits, narrow_range, by_step=True)


@lower("FakeQuantWithMinMaxVarsPerChannel")
def with_vars_per_channel(b, inputs, min, max, *, num_bits, narrow_range):
    low, high = (constant_of(o, "the range") for o in (min, max))
    if rank_of(inputs) < 1 or inputs.shape[-1] != len(low) or low.shape != high.shape:
        raise CannotLower("the ranges may not match the channels")
    return snapped(b, inputs, low, high, num_bits, narrow_range)


def single(operand: Operand) -> np.float32:
    array = constant_of(operand, "the range")
    if array.size != 1:
        raise CannotLower("the range is not a scalar")
    return np.float32(array.reshape(-1)[0])
