"""RandomGammaGrad: the derivative of a gamma-distributed sample with respect to alpha."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.lower import host

_MOST_TERMS = 2000
_LARGE = 2.0**52


@host("RandomGammaGrad")
def random_gamma_grad(alpha, sample):
    """The derivative of a gamma-distributed number with respect to alpha, at a fixed quantile."""
    a, x = np.broadcast_arrays(alpha.astype(np.float64), sample.astype(np.float64))
    out = np.full(a.shape, np.nan)
    out[(x == 0) & (a > 0)] = 0
    defined = (x > 0) & (a > 0)
    far = defined & (x > 1) & (x > a)
    out[far] = _by_fraction(a[far], x[far])
    near = defined & ~far
    out[near] = _by_series(a[near], x[near])
    return out


def _by_series(a: Any, x: Any) -> Any:
    """From the power series of the lower incomplete gamma function, and its derivative term by term."""
    from scipy.special import digamma

    r, c, total = a.copy(), np.ones_like(a), np.ones_like(a)
    dc, dtotal = np.zeros_like(a), np.zeros_like(a)
    for _ in range(_MOST_TERMS):
        r += 1
        term = x / r
        dc = term * dc - x / (r * r) * c
        dtotal += dc
        c *= term
        total += c
        if not np.any(np.abs(dc) > 1e-17 * np.abs(dtotal)):
            break
    return -(dtotal + total * (np.log(x) - digamma(a + 1))) * x / a


def _by_fraction(a: Any, x: Any) -> Any:
    """From the continued fraction of the upper incomplete gamma function."""
    from scipy.special import digamma

    y, z = 1 - a, x + (1 - a) + 1
    p2, q2, p1, q1 = np.ones_like(x), x.copy(), x + 1, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -x
    total = p1 / q1
    dtotal = (dp1 - total * dq1) / q1
    for c in range(1, _MOST_TERMS):
        y, z = y + 1, z + 2
        p, q = p1 * z - p2 * y * c, q1 * z - q2 * y * c
        dp = dp1 * z - p1 - dp2 * y * c + p2 * c
        dq = dq1 * z - q1 - dq2 * y * c + q2 * c
        there = q != 0
        new = np.where(there, p / q, total)
        dnew = np.where(there, (dp - new * dq) / q, dtotal)
        settled = not np.any(np.abs(dnew - dtotal) > 1e-16)
        total, dtotal = new, dnew
        if settled:
            break
        scale = np.where(np.abs(p) > _LARGE, 1 / _LARGE, 1.0)
        p2, q2, p1, q1 = p1 * scale, q1 * scale, p * scale, q * scale
        dp2, dq2, dp1, dq1 = dp1 * scale, dq1 * scale, dp * scale, dq * scale
    return (dtotal + total * (np.log(x) - digamma(a))) * x
