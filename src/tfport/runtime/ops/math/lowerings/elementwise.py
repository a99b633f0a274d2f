"""Element-wise functions of one tensor, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.ops.shared.same_name import same_name

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
