"""Reductions and softmax of quantized tensors, lowered to ONNX: in float32, between conversions."""

from __future__ import annotations

from tfport.frontends.lite.quantized_value import UINT8
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.ops.lite.quantized_onnx import dequantized, factor, quantized


@lower("LiteMean")
def mean(b, x, axes, *, T, keep_dims, divide, multiplier, shift, x_zero, y_zero, low, high):
    over = constant_of(axes, "the axes").reshape(-1)
    real = dequantized(b, x, factor(multiplier, shift), x_zero)
    op = b.ReduceMean if divide else b.ReduceSum
    if not len(over):
        raise CannotLower("there are no axes")
    y = op(real, b.ints(*(int(axis) for axis in over)), keepdims=int(keep_dims))
    return quantized(b, y, 1.0, y_zero, T, low, high)


@lower("LiteSoftmax")
def softmax(b, x, *, T, U, beta, scale):
    """Zero points do not matter. Kernels for int16 interpolate in tables: their errors are many steps."""
    if T != UINT8:
        raise CannotLower("float32 is more accurate than the kernel")
    rank_of(x)
    y = b.Softmax(dequantized(b, x, scale * beta, 0), axis=-1)
    if U == UINT8:
        return quantized(b, y, 1 / 256, 0, U, 0, 255)
    return quantized(b, y, 1 / 65536, -32768, U, -32768, 32767)


@lower("LiteLogSoftmax")
def log_softmax(b, x, *, T, scale):
    rank_of(x)
    return quantized(b, b.LogSoftmax(dequantized(b, x, scale, 0), axis=-1), 1 / 16, 255, T, 0, 255)


@lower("LiteL2Normalization")
def l2_normalization(b, x, *, T, x_zero, signed):
    rank_of(x)
    real = dequantized(b, x, 1.0, x_zero)
    norm = b.ReduceL2(real, b.ints(-1), keepdims=1)
    y = b.Div(real, b.Max(norm, b.const(1, FLOAT32)))
    return quantized(b, y, 1 / 128, 128, T, 0, 255)
