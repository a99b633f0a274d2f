"""Bessel functions J and Y of the first and second kind, and modified ones I and K, of the orders 0 and 1.

J and Y: in float32 a polynomial up to 2, then modulus and phase. In float64 a ratio up to 5, then Hankel's
expansion. The zeros of J are factors of the formulas, which keeps the precision near them.

I and K: Chebyshev series. A function with the suffix `e` is scaled: I by exp(-|x|), K by exp(x). In
float32 the first terms of each series, which are the smallest, are left out.
"""

from __future__ import annotations

import math
from typing import Any

from tfport.runtime.ops.math.series.polynomials import (
    Functions,
    chebyshev,
    coefficients,
    odd,
    polynomial,
    ratio,
)

TWO_OVER_PI = 2 / math.pi
PHASE = (-math.pi / 4, -3 * math.pi / 4)
"""The phase at infinity of the orders 0 and 1, without x."""
TURN = {False: 2.0, True: 5.0}
"""Where the formulas change, by whether they are in float64."""
J_ZEROS = ((5.78318596294678452118, 30.4712623436620863991), (14.6819706421238932572, 49.2184563216946036703))
"""The squares of the first zeros of J0 and J1."""
Y_ZEROS = (0.43221455686510834878, 4.66539330185668857532)
"""Likewise of Y0 and Y1, or the numbers that take their place."""
TINY = {False: 1e-3, True: 1e-5}
"""Below this J0 is 1 - x²/4."""


def j0(m: Functions, x: Any, double: bool) -> Any:
    y = m.abs(x)
    square = y * y
    near = _near(square, 0, double)
    near = m.where(y < TINY[double], square * -0.25 + 1.0, near)
    return m.where(y <= TURN[double], near, _far_j(m, y, 0, double))


def j1(m: Functions, x: Any, double: bool) -> Any:
    y = m.abs(x)
    near = _near(y * y, 1, double) * x
    return m.where(y <= TURN[double], near, odd(m, x, _far_j(m, y, 1, double)))


def y0(m: Functions, x: Any, double: bool) -> Any:
    square, parts = x * x, _parts(0, double)
    near = ratio(square, parts["y"]) if double else (square - Y_ZEROS[0]) * polynomial(square, parts["y"])
    near = near + TWO_OVER_PI * m.log(x) * j0(m, x, double)
    near = m.where(x <= 0.0, -math.inf, near)
    return m.where(x <= TURN[double], near, _far_y(m, x, 0, double))


def y1(m: Functions, x: Any, double: bool) -> Any:
    square, parts = x * x, _parts(1, double)
    near = ratio(square, parts["y"]) if double else (square - Y_ZEROS[1]) * polynomial(square, parts["y"])
    near = near * x + TWO_OVER_PI * (j1(m, x, double) * m.log(x) - 1.0 / x)
    # in float32 the kernel gives NaN at 0
    near = m.where(x <= 0.0 if double else x < 0.0, -math.inf, near)
    return m.where(x <= TURN[double], near, _far_y(m, x, 1, double))


def _parts(order: int, double: bool) -> dict[str, Any]:
    return coefficients()[f"bessel_j{order}_{'float64' if double else 'float32'}"]


def _near(square: Any, order: int, double: bool) -> Any:
    """J up to the turn, for order 1 divided by x."""
    factors, (first, second) = _parts(order, double)["j"], J_ZEROS[order]
    if double:
        return ratio(square, factors) * (square - first) * (square - second)
    return polynomial(square, factors) * (square - first)


def _far_j(m: Functions, y: Any, order: int, double: bool) -> Any:
    if not double:
        modulus, phase = _modulus_and_phase(m, y, order)
        return modulus * m.cos(phase)
    p, q, phase, scale = _hankel(m, y, order)
    return (p * m.cos(phase) - q * m.sin(phase)) * scale


def _far_y(m: Functions, x: Any, order: int, double: bool) -> Any:
    if not double:
        modulus, phase = _modulus_and_phase(m, x, order)
        return modulus * m.sin(phase)
    p, q, phase, scale = _hankel(m, x, order)
    return (p * m.sin(phase) + q * m.cos(phase)) * scale


def _modulus_and_phase(m: Functions, y: Any, order: int) -> tuple[Any, Any]:
    inverse, parts = 1.0 / y, _parts(order, False)
    modulus = polynomial(inverse, parts["modulus"]) / m.sqrt(y)
    return modulus, polynomial(inverse * inverse, parts["phase"]) * inverse + PHASE[order] + y


def _hankel(m: Functions, y: Any, order: int) -> tuple[Any, Any, Any, Any]:
    inverse, parts = 25.0 / (y * y), _parts(order, True)
    p, q = ratio(inverse, parts["p"]), 5.0 / y * ratio(inverse, parts["q"])
    return p, q, y + PHASE[order], math.sqrt(TWO_OVER_PI) / m.sqrt(y)


# Modified Bessel functions

SHORT = {
    ("i0", "near"): 18, ("i0", "far"): 7, ("i1", "near"): 17, ("i1", "far"): 7,
    ("k0", "near"): 7, ("k0", "far"): 10, ("k1", "near"): 7, ("k1", "far"): 10,
}  # fmt: skip
"""How many terms count in float32."""


def i0e(m: Functions, x: Any, double: bool) -> Any:
    y = m.abs(x)
    near = _series(y * 0.5 - 2.0, "i0", "near", double)
    return m.where(y <= 8.0, near, _far_i(m, y, "i0", double))


def i1e(m: Functions, x: Any, double: bool) -> Any:
    y = m.abs(x)
    near = y * _series(y * 0.5 - 2.0, "i1", "near", double)
    return odd(m, x, m.where(y <= 8.0, near, _far_i(m, y, "i1", double)))


def i0(m: Functions, x: Any, double: bool) -> Any:
    return m.exp(m.abs(x)) * i0e(m, x, double)


def i1(m: Functions, x: Any, double: bool) -> Any:
    return m.exp(m.abs(x)) * i1e(m, x, double)


def k0(m: Functions, x: Any, double: bool) -> Any:
    return _chosen(m, x, _near_k0(m, x, double), _far_k(m, x, "k0", double) * m.exp(-x))


def k0e(m: Functions, x: Any, double: bool) -> Any:
    return _chosen(m, x, _near_k0(m, x, double) * m.exp(x), _far_k(m, x, "k0", double))


def k1(m: Functions, x: Any, double: bool) -> Any:
    return _chosen(m, x, _near_k1(m, x, double), _far_k(m, x, "k1", double) * m.exp(-x))


def k1e(m: Functions, x: Any, double: bool) -> Any:
    return _chosen(m, x, _near_k1(m, x, double) * m.exp(x), _far_k(m, x, "k1", double))


def _series(x: Any, name: str, part: str, double: bool) -> Any:
    factors = coefficients()[f"bessel_{name}"][part]
    return chebyshev(x, factors if double else factors[-SHORT[name, part] :])


def _far_i(m: Functions, y: Any, name: str, double: bool) -> Any:
    return _series(32.0 / y - 2.0, name, "far", double) / m.sqrt(y)


def _near_k0(m: Functions, x: Any, double: bool) -> Any:
    return _series(x * x - 2.0, "k0", "near", double) - i0(m, x, double) * m.log(x * 0.5)


def _near_k1(m: Functions, x: Any, double: bool) -> Any:
    return _series(x * x - 2.0, "k1", "near", double) / x + i1(m, x, double) * m.log(x * 0.5)


def _far_k(m: Functions, x: Any, name: str, double: bool) -> Any:
    return _series(8.0 / x - 2.0, name, "far", double) / m.sqrt(x)


def _chosen(m: Functions, x: Any, near: Any, far: Any) -> Any:
    return m.where(x <= 0.0, math.inf, m.where(x <= 2.0, near, far))
