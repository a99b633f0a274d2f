"""Element-wise functions of one tensor, and casts, lowered to ONNX.

Casts are lowered where both agree on values out of range.
"""

from __future__ import annotations

import platform

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower, same_name
from tfport.runtime.program import ONNX_TYPES

_BITS = {"int32": 31, "int64": 63}
_WHOLE = frozenset([*_BITS, "bool"])
_HALF = frozenset(["float16", "bfloat16"])
_PLAIN = frozenset(["float32", "float64", *_HALF])
SATURATES = platform.machine() not in ("x86_64", "AMD64")
"""Whether the engine turns NaN into 0 and large numbers into the nearest integer, unlike x86."""

same_name(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Exp Floor Inv:Reciprocal IsInf IsNan:IsNaN Log "
    "LogicalNot:Not Neg Reciprocal Rint:Round Sigmoid Sin Sinh Sqrt Tan Tanh"
)


@lower("Round")
def round_to_even(b, x):
    if x.dtype.is_integer:
        raise CannotLower("TensorFlow returns zeros for integers")
    return b.Round(x)


@lower("Sign")
def sign(b, x):
    if x.dtype.is_floating and x.dtype.name not in ("float32", "float64"):
        raise CannotLower("ONNX Runtime returns 0 for the sign of a half precision NaN")
    return b.Sign(x)


@lower("Square")
def square(b, x):
    return b.Mul(x, x)


@lower("Rsqrt")
def rsqrt(b, x):
    return b.Reciprocal(b.Sqrt(x))


@lower("IsFinite")
def is_finite(b, x):
    return b.Not(b.Or(b.IsNaN(x), b.IsInf(x)))


@lower("Expm1")
def expm1(b, x):
    # accurate near zero, where exp(x) - 1 loses all digits
    return b.Mul(b.Tanh(b.Mul(x, b.const(0.5, x.dtype))), b.Add(b.Exp(x), b.const(1, x.dtype)))


@lower("Log1p")
def log1p(b, x):
    """log(u) · (x/(u-1)) with u = 1+x rounded: the two roundings of u cancel."""
    unit = b.const(1, x.dtype)
    u = b.Add(x, unit)
    exact = b.Mul(b.Log(u), b.Div(x, b.Sub(u, unit)))
    small = b.Where(b.Equal(u, unit), x, exact)
    return b.Where(b.IsInf(u), b.Log(u), small)


@lower("Cast")
def cast(b, x, *, SrcT, DstT, Truncate):
    if Truncate:
        raise CannotLower("Truncate: ONNX rounds")
    if x.dtype.name in _PLAIN and DstT.name not in _PLAIN | _WHOLE:
        raise CannotLower("out-of-range values saturate or wrap depending on their position")
    if x.dtype == DstT:
        return b.Identity(x)
    if any(t.is_complex or t.is_quantized or t.name not in ONNX_TYPES for t in (x.dtype, DstT)):
        raise CannotLower("ONNX has no such type")
    if SATURATES and x.dtype.name in _PLAIN and DstT.name in _BITS:
        return _integer_of(b, x, DstT)
    return b.cast(x, DstT)


def _integer_of(b, x, dtype):
    """The integer part; the smallest integer for NaN and numbers out of range, as TensorFlow on x86-64."""
    wide = b.cast(x, FLOAT32) if x.dtype.name in _HALF else x
    limit = 2 ** _BITS[dtype.name]
    fits = b.And(b.Greater(wide, b.const(-limit - 1, wide.dtype)), b.Less(wide, b.const(limit, wide.dtype)))
    return b.Where(fits, b.cast(wide, dtype), b.const(-limit, dtype))
