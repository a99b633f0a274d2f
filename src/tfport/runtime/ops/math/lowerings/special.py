"""The error functions, lowered to ONNX.

ONNX has no Erfc, and `1 - Erf` would lose all digits where the result is small.
"""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import lower, same_name
from tfport.runtime.program import ERFC

same_name("Erf")


# exp(p(t) - x²) · t with t = 1 / (1 + |x|/2): the Chebyshev fit of Numerical Recipes, within 1.2e-7
_FIT = (
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
    1.00002368, -1.26551223,
)  # fmt: skip


@lower("Erfc", T=(FLOAT32,))
def erfc(b, x):
    size = b.Abs(x)
    t = b.Reciprocal(b.Add(b.Mul(size, b.const(0.5, FLOAT32)), b.const(1, FLOAT32)))
    fit = b.const(_FIT[0], FLOAT32)
    for term in _FIT[1:]:
        fit = b.Add(b.Mul(fit, t), b.const(term, FLOAT32))
    tail = b.Mul(t, b.Exp(b.Sub(fit, b.Mul(size, size))))
    zero, two = b.const(0, FLOAT32), b.const(2, FLOAT32)
    result = b.Where(b.Less(x, zero), b.Sub(two, tail), tail)
    b.added[-1].means = (ERFC, x)
    return result
