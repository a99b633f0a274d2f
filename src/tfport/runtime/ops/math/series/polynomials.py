"""Polynomials, ratios and Chebyshev series, and the functions that a formula may use.

A formula is a Python function of `m`, which has functions named as in NumPy, and of an argument
with arithmetic operators: NumPy and an array, or other implementations that build a graph.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

Ratio = tuple[Sequence[float], Sequence[float]]
"""The coefficients of a numerator and a denominator."""


class Functions(Protocol):
    """The functions of a formula; `numpy` has them."""

    def abs(self, x: Any, /) -> Any: ...
    def cos(self, x: Any, /) -> Any: ...
    def exp(self, x: Any, /) -> Any: ...
    def log(self, x: Any, /) -> Any: ...
    def log1p(self, x: Any, /) -> Any: ...
    def sin(self, x: Any, /) -> Any: ...
    def sqrt(self, x: Any, /) -> Any: ...
    def equal(self, x: Any, y: Any, /) -> Any: ...
    def where(self, condition: Any, x: Any, y: Any, /) -> Any: ...


@cache
def coefficients() -> dict[str, dict[str, Any]]:
    """The coefficients of each function by name."""
    return tomllib.loads(Path(__file__).with_name("coefficients.toml").read_text("utf-8"))


def polynomial(x: Any, factors: Sequence[float]) -> Any:
    """A polynomial by Horner's scheme; the factor of the highest power comes first."""
    result = factors[0] * x + factors[1]
    for factor in factors[2:]:
        result = result * x + factor
    return result


def ratio(x: Any, factors: Ratio) -> Any:
    """A ratio of two polynomials."""
    above, below = factors
    return polynomial(x, above) / polynomial(x, below)


def chebyshev(x: Any, factors: Sequence[float]) -> Any:
    """A Chebyshev series of x / 2 by Clenshaw's recurrence; half of the last factor counts."""
    before, last = factors[0], factors[0] * x + factors[1]
    older: Any = 0.0
    for factor in factors[2:]:
        older, before, last = before, last, x * last + factor - before
    return (last - older) * 0.5


def odd(m: Functions, x: Any, positive: Any) -> Any:
    """The value of an odd function whose value for |x| is known."""
    return m.where(x < 0.0, -positive, positive)
