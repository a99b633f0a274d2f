"""Modified Bessel functions I and K of the orders 0 and 1 as Chebyshev series.

A function with the suffix `e` is scaled: I by exp(-|x|), K by exp(x). In float32 the first terms of
each series, which are the smallest, are left out.
"""

from __future__ import annotations

import math
from typing import Any

from tfport.runtime.ops.math.series.polynomials import Functions, chebyshev, coefficients, odd

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
