"""The formula of each special function, by op.

The Bessel functions are in `bessel`. Integrals without a closed form (Dawson's, the exponential, Fresnel's
and Spence's) have the same coefficients in float32 and float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.runtime.ops.math.series import bessel
from tfport.runtime.ops.math.series.polynomials import Functions, Ratio, coefficients, odd, polynomial, ratio

EULER = 0.5772156649015329
FRESNEL_ENDS = 36974.0
"""Beyond this the kernel gives 0.5."""
ZETA_2 = math.pi**2 / 6
TAIL = 0.13533528323661269189
"""exp(-2): below this, and above one minus this, `ndtri` is computed from a logarithm."""


def dawsn(m: Functions, x: Any, double: bool) -> Any:
    y, parts = m.abs(x), coefficients()["dawsn"]
    above, below = parts["near"]
    near = y * polynomial(y * y, above) / polynomial(y * y, below)
    # the kernel divides by x itself for large numbers, and changes the sign twice
    value = 0.5 / x
    for limit, factors in ((1e9, parts["far"]), (6.25, parts["middle"])):
        value = m.where(y < limit, _far_dawsn(y, factors), value)
    return odd(m, x, m.where(y < 3.25, near, value))


def _far_dawsn(y: Any, factors: Ratio) -> Any:
    above, below = factors
    inverse = 1.0 / y
    square = inverse * inverse
    return (polynomial(square, above) / (y * polynomial(square, below)) * square + inverse) * 0.5


def expint(m: Functions, x: Any, double: bool) -> Any:
    parts = coefficients()["expint"]
    inverse, scale = 1.0 / x, m.exp(x)
    value = _asymptotic_expint(inverse, scale, parts["beyond"])
    for limit in (64, 32, 16, 8, 4):
        value = m.where(x < float(limit), _asymptotic_expint(inverse, scale, parts[f"to_{limit}"]), value)
    near = x * ratio(x, parts["to_2"]) + EULER + m.log(x)
    return m.where(x < 0.0, math.nan, m.where(x < 2.0, near, value))


def _asymptotic_expint(inverse: Any, scale: Any, factors: Ratio) -> Any:
    return scale * inverse * (inverse * ratio(inverse, factors) + 1.0)


def fresnel_cos(m: Functions, x: Any, double: bool) -> Any:
    y = m.abs(x)
    above, below = coefficients()["fresnel"]["cos"]
    fourth = (y * y) * (y * y)
    near = y * polynomial(fourth, above) / polynomial(fourth, below)
    f, g, angle, scale = _asymptotic_fresnel(y)
    far = (f * m.sin(angle) - g * m.cos(angle)) * scale + 0.5
    return _fresnel(m, x, y, near, far)


def fresnel_sin(m: Functions, x: Any, double: bool) -> Any:
    y = m.abs(x)
    above, below = coefficients()["fresnel"]["sin"]
    square = y * y
    fourth = square * square
    near = y * square * polynomial(fourth, above) / polynomial(fourth, below)
    f, g, angle, scale = _asymptotic_fresnel(y)
    far = 0.5 - (f * m.cos(angle) + g * m.sin(angle)) * scale
    return _fresnel(m, x, y, near, far)


def _asymptotic_fresnel(y: Any) -> tuple[Any, Any, Any, Any]:
    parts = coefficients()["fresnel"]
    square = y * y
    t = 1.0 / (square * math.pi)
    u = t * t
    above, below = parts["g"]
    f, g = 1.0 - u * ratio(u, parts["f"]), t * polynomial(u, above) / polynomial(u, below)
    return f, g, square * (math.pi / 2), 1.0 / (y * math.pi)


def _fresnel(m: Functions, x: Any, y: Any, near: Any, far: Any) -> Any:
    value = m.where(y * y < 2.5625, near, far)
    return odd(m, x, m.where(y > FRESNEL_ENDS, 0.5, value))


def spence(m: Functions, x: Any, double: bool) -> Any:
    y = m.where(x < 2.0, x, 1.0 / x)
    is_small = y < 0.5
    w = m.where(y > 1.5, 1.0 / y - 1.0, m.where(is_small, -y, y - 1.0))
    value = -w * ratio(w, coefficients()["spence"]["ratio"])
    log = m.log(y)
    value = m.where(is_small, ZETA_2 - log * m.log1p(-y) - value, value)
    value = m.where(x > 1.5, log * log * -0.5 - value, value)
    for point, exact in ((1.0, 0.0), (0.0, ZETA_2)):
        value = m.where(m.equal(x, point), exact, value)
    return m.where(x < 0.0, math.nan, value)


def ndtri(m: Functions, x: Any, double: bool) -> Any:
    """The quantile of the normal distribution."""
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


Formula = Callable[[Functions, Any, bool], Any]
"""Takes the functions to use, the argument, and whether to compute in float64 rather than float32."""

FORMULAS: dict[str, Formula] = {
    "BesselI0": bessel.i0,
    "BesselI0e": bessel.i0e,
    "BesselI1": bessel.i1,
    "BesselI1e": bessel.i1e,
    "BesselJ0": bessel.j0,
    "BesselJ1": bessel.j1,
    "BesselK0": bessel.k0,
    "BesselK0e": bessel.k0e,
    "BesselK1": bessel.k1,
    "BesselK1e": bessel.k1e,
    "BesselY0": bessel.y0,
    "BesselY1": bessel.y1,
    "Dawsn": dawsn,
    "Erfinv": erfinv,
    "Expint": expint,
    "FresnelCos": fresnel_cos,
    "FresnelSin": fresnel_sin,
    "Ndtri": ndtri,
    "Spence": spence,
}


def evaluate(op: str, x: Any) -> Any:
    """The values of a special function at an array of float32 or float64."""
    with np.errstate(all="ignore"):  # the branches that are not chosen may divide by zero or overflow
        # NumPy 1 would compute in float64 with an array without axes
        return FORMULAS[op](np, np.atleast_1d(x), x.dtype == np.float64).reshape(x.shape)
