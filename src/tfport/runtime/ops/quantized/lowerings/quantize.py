"""Quantize and dequantize within a constant range, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.quantized.kernels.quantize import range_of_steps


@lower("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4", range_given=(True,), axis=(-1,))
def quantize_and_dequantize(
    b, input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, axis
):
    return _round_trip(b, input, input_min, input_max, signed_input, num_bits, round_mode, narrow_range)


@lower("QuantizeAndDequantizeV3", range_given=(True,), axis=(-1,))
def quantize_and_dequantize_v3(
    b, input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range, axis
):
    bits = int(constant_of(num_bits, "num_bits"))
    return _round_trip(b, input, input_min, input_max, signed_input, bits, "HALF_TO_EVEN", narrow_range)


def _round_trip(
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
        raise CannotLower("the range is empty")
    low, high, scale, back = (b.const(v, x.dtype) for v in range_of_steps(signed, bits, narrow, *ends))
    scaled = b.Mul(b.Min(b.Max(x, low), high), scale)
    whole = b.Round(scaled) if round_mode == "HALF_TO_EVEN" else b.Floor(b.Add(scaled, b.const(0.5, x.dtype)))
    return b.Mul(whole, back)
