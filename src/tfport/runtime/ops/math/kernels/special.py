"""Special functions: gamma, error and Bessel functions.

SciPy has them all. TensorFlow differs at the edges: poles, negative arguments, infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen

INFINITE_IS_NAN = "infinite is nan"
NEGATIVE_IS_NAN = "negative is nan"
NEGATIVE_IS_INF = "negative is inf"
NEGATIVE_IS_MINUS_INF = "negative is -inf"

# op, name in SciPy, where TensorFlow differs
_TABLE: list[tuple[str, str, tuple[str, ...]]] = [
    ("Erf", "erf", ()),
    ("Erfc", "erfc", ()),
    ("Erfinv", "erfinv", ()),
    ("Ndtri", "ndtri", ()),
    ("BesselI0", "i0", (INFINITE_IS_NAN,)),
    ("BesselI0e", "i0e", ()),
    ("BesselI1", "i1", (INFINITE_IS_NAN,)),
    ("BesselI1e", "i1e", ()),
    ("BesselJ0", "j0", (INFINITE_IS_NAN,)),
    ("BesselJ1", "j1", (INFINITE_IS_NAN,)),
    ("BesselK0", "k0", (NEGATIVE_IS_INF,)),
    ("BesselK0e", "k0e", (NEGATIVE_IS_INF,)),
    ("BesselK1", "k1", (NEGATIVE_IS_INF,)),
    ("BesselK1e", "k1e", (NEGATIVE_IS_INF,)),
    ("BesselY0", "y0", (INFINITE_IS_NAN, NEGATIVE_IS_MINUS_INF)),
    ("Dawsn", "dawsn", ()),
    ("Expint", "expi", (INFINITE_IS_NAN, NEGATIVE_IS_NAN)),
    ("Spence", "spence", (INFINITE_IS_NAN,)),
]
_EDGES: dict[str, tuple[Callable[[Any], Any], float]] = {
    INFINITE_IS_NAN: (np.isinf, np.nan),
    NEGATIVE_IS_NAN: (lambda x: x < 0, np.nan),
    NEGATIVE_IS_INF: (lambda x: x < 0, np.inf),
    NEGATIVE_IS_MINUS_INF: (lambda x: x < 0, -np.inf),
}


def _kernel(name: str, edges: tuple[str, ...]) -> Any:
    def kernel(x):
        from scipy import special

        answer = getattr(special, name)(widen(x))
        for edge in edges:
            applies, value = _EDGES[edge]
            answer = np.where(applies(x), value, answer)
        return answer

    return kernel


for _op, _name, _edges in _TABLE:
    host(_op)(_kernel(_name, _edges))


@host("Lgamma")
def lgamma(x):
    from scipy import special

    return np.where(np.isinf(x), np.inf, special.gammaln(widen(x)))


@host("BesselY1")
def bessel_y1(x):
    from scipy import special

    at_zero = -np.inf if x.dtype == np.float64 else np.nan
    answer = np.where(x < 0, -np.inf, np.where(x == 0, at_zero, special.y1(widen(x))))
    return np.where(x == np.inf, np.nan, answer)


@host("FresnelCos")
def fresnel_cos(x):
    from scipy import special

    return special.fresnel(x)[1]


@host("FresnelSin")
def fresnel_sin(x):
    from scipy import special

    return special.fresnel(x)[0]


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
