"""The formula of each special function, by op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.runtime.ops.math.series import bessel, integrals
from tfport.runtime.ops.math.series.polynomials import Functions

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
    "Dawsn": integrals.dawsn,
    "Erfinv": integrals.erfinv,
    "Expint": integrals.expint,
    "FresnelCos": integrals.fresnel_cos,
    "FresnelSin": integrals.fresnel_sin,
    "Ndtri": integrals.ndtri,
    "Spence": integrals.spence,
}


def evaluate(op: str, x: Any) -> Any:
    """The values of a special function at an array of float32 or float64."""
    with np.errstate(all="ignore"):  # the branches that are not chosen may divide by zero or overflow
        # NumPy 1 would compute in float64 with an array without axes
        return FORMULAS[op](np, np.atleast_1d(x), x.dtype == np.float64).reshape(x.shape)
