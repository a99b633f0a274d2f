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


# Incomplete gamma functions, and their derivatives with respect to the first argument

MOST_TERMS = 100_000


@host("Igamma")
def igamma(a, x):
    from scipy import special

    answer = np.where(np.isinf(a), 0.0, special.gammainc(a, x))
    return _where_defined(a, x, np.where(x == 0, 0.0, answer), at_zero=0.0)


@host("Igammac")
def igammac(a, x):
    from scipy import special

    answer = np.where(np.isinf(a), np.where(np.isinf(x), 0.0, 1.0), special.gammaincc(a, x))
    return _where_defined(a, x, answer, at_zero=np.nan)


@host("IgammaGradA")
def igamma_grad_a(a, x):
    slope, log_scale = _series(a, x)
    answer = np.where(_is_constant(a, x), 0.0, slope * np.exp(log_scale))
    return _where_defined(a, x, answer, at_zero=0.0)


def _where_defined(a: Any, x: Any, answer: Any, *, at_zero: float) -> Any:
    origin = (a == 0) & (x == 0)
    undefined = (a <= 0) | (x < 0) | np.isnan(a) | np.isnan(x)
    return np.where(origin, at_zero, np.where(undefined, np.nan, answer))


def _is_constant(a: Any, x: Any) -> Any:
    """Where P is 0 or 1 for all nearby values of a."""
    return (x == 0) | np.isinf(a) | np.isinf(x)


def _series(a: Any, x: Any) -> tuple[Any, Any]:
    """The derivative of P(a, x) by a, and the logarithm of a factor that it lacks.

    P(a, x) = xᵃ e⁻ˣ Σ xⁿ / Γ(a+n+1): each term is differentiated. The missing factor is xᵃ e⁻ˣ / Γ(a+1).
    """
    from scipy import special

    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    fine = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    a, x = np.where(fine, a, 1.0), np.where(fine, x, 1.0)
    term, log_x, psi = np.ones_like(x), np.log(x), special.psi(a + 1)
    slope = np.zeros_like(x)
    for n in range(1, MOST_TERMS):
        change = term * (log_x - psi)
        slope = slope + change
        if np.all((np.abs(change) <= 1e-17 * np.abs(slope)) & (a + n > x)):
            break
        psi = psi + 1 / (a + n)
        term = term * x / (a + n)
    return slope, a * log_x - x - special.gammaln(a + 1)
