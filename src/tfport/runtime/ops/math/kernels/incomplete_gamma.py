"""Incomplete gamma functions, and their derivatives with respect to the first argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.lower import host

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
