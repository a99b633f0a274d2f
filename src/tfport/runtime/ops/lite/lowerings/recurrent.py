"""LSTM layers and hybrid rounding of TensorFlow Lite, lowered to ONNX where it computes the same."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of

FLOAT64, INT32 = DType.parse("float64"), DType.parse("int32")
FAR = 1e30
"""A factor that takes what might be rounded to 1 beyond 0.5."""


@lower("LiteLstm")
def lstm(
    b, x, weights, recurrent, bias, peephole, norm, projection, projection_bias, output_state, cell_state,
    *, activation, cell_clip, projection_clip, rounding,
):  # fmt: skip
    """ONNX has no normalization, projection or limits; its gates are input, output, forget, cell."""
    plain = all(constant_of(part, "a weight").size == 0 for part in (norm, projection, projection_bias))
    if not plain or rounding or cell_clip > 0 or activation != "TANH":
        raise CannotLower("ONNX has no such LSTM")
    w, r, shift = (_reordered(constant_of(part, "a weight")) for part in (weights, recurrent, bias))
    into = constant_of(peephole, "a peephole")
    peepholes = None
    if into.size:
        first, forget, last = np.split(into, 3)
        peepholes = b.const(np.concatenate([first, last, forget])[None], FLOAT32)
    hidden = w.shape[0] // 4
    y, output, cell = b.nodes(
        "LSTM", x, b.const(w[None], FLOAT32), b.const(r[None], FLOAT32),
        b.const(np.concatenate([shift, np.zeros_like(shift)])[None], FLOAT32), None,
        b.unsqueeze(output_state, 0), b.unsqueeze(cell_state, 0), peepholes, outputs=3, hidden_size=hidden,
    )  # fmt: skip
    return b.squeeze(y, 1), b.squeeze(output, 0), b.squeeze(cell, 0)


def _reordered(gates):
    enter, forget, cell, leave = np.split(gates, 4)
    return np.concatenate([enter, leave, forget, cell])


@lower("LiteHybridInput")
def hybrid_input(b, x, *, asymmetric, axis):
    """Activations rounded to the 8-bit steps of their rows."""
    axes = range(axis, rank_of(x))
    if x.shape is None or any(size in (None, 0) for size in x.shape[axis:]):
        raise CannotLower("the size of a row is unknown")
    low, high = b.ReduceMin(x, b.ints(*axes)), b.ReduceMax(x, b.ints(*axes))
    if asymmetric:
        return _asymmetric(b, x, low, high)
    bound = b.Max(b.Neg(low), high)
    some = b.Greater(bound, b.const(0, FLOAT32))
    divisor = b.Where(some, bound, b.const(1, FLOAT32))
    q = _round(b, b.Mul(x, b.Div(b.const(127, FLOAT32), divisor)))
    return b.Mul(q, b.Div(bound, b.const(127, FLOAT32)))


def _asymmetric(b, x, low, high):
    """The zero point is computed in float64, as TensorFlow Lite does."""
    low = b.cast(b.Min(low, b.const(0, FLOAT32)), FLOAT64)
    high = b.cast(b.Max(high, b.const(0, FLOAT32)), FLOAT64)
    width = b.Div(b.Sub(high, low), b.const(255, FLOAT64))
    scale = b.Where(b.Greater(width, b.const(0, FLOAT64)), width, b.const(1, FLOAT64))
    below, above = b.Div(low, scale), b.Div(high, scale)  # the first is not positive, the second not negative
    is_low_nearer = b.Less(b.Sub(b.const(128, FLOAT64), below), b.Add(b.const(127, FLOAT64), above))
    exact = b.Where(is_low_nearer, b.Sub(b.const(-128, FLOAT64), below), b.Sub(b.const(127, FLOAT64), above))
    zero = b.cast(_clip(b, _round(b, exact), -128, 127), FLOAT32)
    step = b.cast(scale, FLOAT32)
    q = _clip(b, _round(b, b.Add(zero, b.Mul(x, b.Div(b.const(1, FLOAT32), step)))), -128, 127)
    return b.Mul(b.Sub(q, zero), step)


def _round(b, x):
    """Halves away from zero. `Sign` and `Floor` take longer in ONNX Runtime than products and casts."""
    half = b.Clip(b.Mul(x, b.const(FAR, x.dtype)), b.const(-0.5, x.dtype), b.const(0.5, x.dtype))
    return b.cast(b.cast(b.Add(x, half), INT32), x.dtype)


def _clip(b, x, low, high):
    return b.Clip(x, b.const(low, x.dtype), b.const(high, x.dtype))
