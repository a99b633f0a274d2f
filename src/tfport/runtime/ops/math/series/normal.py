"""The quantile of the normal distribution, and the inverse of the error function by it."""

from __future__ import annotations

import math
from typing import Any

from tfport.runtime.ops.math.series.polynomials import Functions, coefficients, ratio

TAIL = 0.13533528323661269189
"""exp(-2): below this, and above one minus this, the quantile is computed from a logarithm."""


def ndtri(m: Functions, x: Any, double: bool) -> Any:
    parts = coefficients()["ndtri"]
    is_low = x <= 1.0 - TAIL
    p = m.where(is_low, x, 1.0 - x)
    c = p - 0.5
    square = c * c
    middle = (c * (square * ratio(square, parts["middle"])) + c) * math.sqrt(2 * math.pi)
    z = m.sqrt(m.log(p) * -2.0)
    inverse = 1.0 / z
    share = m.where(z < 8.0, ratio(inverse, parts["tail"]), ratio(inverse, parts["far_tail"]))
    tail = z - m.log(z) / z - inverse * share
    value = m.where(p > TAIL, middle, m.where(is_low, -tail, tail))
    return m.where(m.equal(x, 0.0), -math.inf, m.where(m.equal(x, 1.0), math.inf, value))


def erfinv(m: Functions, x: Any, double: bool) -> Any:
    return ndtri(m, x * 0.5 + 0.5, double) * math.sqrt(0.5)
