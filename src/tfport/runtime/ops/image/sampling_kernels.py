"""The sampling kernels of ScaleAndTranslate, as formulas (`runtime.ops.math.series`) of the distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tfport.runtime.ops.math.series.polynomials import Functions

SIGMA = 0.5
"""The width of the Gaussian kernel."""
NEAR = 1e-3
"""Distances up to this one have the weight of none."""


class SamplingKernel(NamedTuple):
    """How far a kernel reaches, and the weight of a pixel at a distance."""

    radius: float
    weight: Callable[[Functions, Any], Any]


def _lanczos(radius: float) -> SamplingKernel:
    def weight(m: Functions, x: Any) -> Any:
        turn = x * math.pi
        value = radius * m.sin(turn) * m.sin(turn / radius) / (turn * turn)
        return m.where(x > radius, 0.0, m.where(x <= NEAR, 1.0, value))

    return SamplingKernel(radius, weight)


def _keys(m: Functions, x: Any) -> Any:
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return m.where(x < 1.0, ((1.5 * x - 2.5) * x) * x + 1.0, m.where(x < 2.0, far, 0.0))


def _mitchell(m: Functions, x: Any) -> Any:
    far = ((-7 / 18 * x + 2.0) * x - 10 / 3) * x + 16 / 9
    return m.where(x < 1.0, ((7 / 6 * x - 2.0) * x) * x + 8 / 9, m.where(x < 2.0, far, 0.0))


def _gaussian(m: Functions, x: Any) -> Any:
    return m.where(x < 1.5, m.exp(-x * x / (2 * SIGMA * SIGMA)), 0.0)


def _box(m: Functions, x: Any) -> Any:
    return m.where(x < 0.5, 1.0, m.where(m.equal(x, 0.5), 0.5, 0.0))


def _triangle(m: Functions, x: Any) -> Any:
    return m.where(x < 1.0, 1.0 - x, 0.0)


KERNELS = {
    "lanczos1": _lanczos(1.0),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": SamplingKernel(1.5, _gaussian),
    "box": SamplingKernel(0.5, _box),
    "triangle": SamplingKernel(1.0, _triangle),
    "keyscubic": SamplingKernel(2.0, _keys),
    "mitchellcubic": SamplingKernel(2.0, _mitchell),
}
