"""Special functions: gamma, error and Bessel functions.

Where TensorFlow's kernel evaluates a formula, `ops.math.series` has the same one. SciPy has the others;
TensorFlow differs from it at the edges: poles, negative arguments, infinities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.math.series.formulas import FORMULAS, evaluate
from tfport.runtime.ops.shared.precision import widen


def _by_formula(op: str) -> Any:
    def kernel(x):
        return evaluate(op, widen(x))

    return kernel


for _op in FORMULAS:
    host(_op)(_by_formula(_op))


@host("Erf")
def erf(x):
    from scipy import special

    return special.erf(widen(x))


@host("Erfc")
def erfc(x):
    from scipy import special

    return special.erfc(widen(x))


@host("Lgamma")
def lgamma(x):
    from scipy import special

    return np.where(np.isinf(x), np.inf, special.gammaln(widen(x)))


@host("Digamma")
def digamma(x):
    from scipy import special

    x = widen(x)
    # NaN at the poles and at minus infinity
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, special.psi(x))


@host("Polygamma")
def polygamma(a, x):
    from scipy import special

    order = a.astype(np.float64)
    sign = np.where(order % 2 == 0, -1.0, 1.0)
    higher = sign * special.gamma(order + 1) * _zeta(order + 1, x.astype(np.float64))
    answer = np.where(order == 0, digamma(x.astype(np.float64)), higher)
    return np.where((order < 0) | (order != np.floor(order)), np.nan, answer)


@host("Zeta")
def zeta(x, q):
    return _zeta(x.astype(np.float64), q.astype(np.float64))


def _zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function; at the poles of q, TensorFlow returns infinity for even x only."""
    from scipy import special

    answer = special.zeta(x, q)
    even = np.where(x % 2 == 0, np.inf, np.nan)
    answer = np.where((q <= 0) & (q == np.floor(q)), even, answer)
    answer = np.where((q <= 0) & (x != np.floor(x)), np.nan, answer)
    return np.where(x == 1, np.inf, np.where(x < 1, np.nan, answer))


@host("Betainc")
def betainc(a, b, x):
    from scipy import special

    shapes = {array.shape for array in (a, b, x) if array.ndim}
    if len(shapes) > 1:
        raise RunFailed(f"inputs must be scalars or have the same shape, found {sorted(map(list, shapes))}")
    outside = (a <= 0) | (b <= 0) | (x < 0) | (x > 1) | np.isinf(a) | np.isinf(b)
    return np.where(outside, np.nan, special.betainc(a, b, x))
