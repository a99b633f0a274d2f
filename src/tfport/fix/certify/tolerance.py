"""How far two outputs may differ: a relative and an absolute tolerance for each floating-point type.

A tolerance of zero does not work for floating-point numbers, even if every rule is exact. An engine
chooses the order of a sum by the shapes and neighbors of an op, fuses a product with a following sum,
and has its own polynomial for `exp`: the same mathematics gives different last bits when the graph
around it changes, and a long sum of both signs loses digits by cancellation. So numbers agree if

    |a - b| <= atol + rtol * |b|

with an `atol` that grows with the largest number of the output, as rounding errors do. `atol` is at
least the smallest normal number, since engines may flush smaller numbers to zero. A model that computes
in a narrower type than its output has the rounding errors of that type (`narrowest`), so its tolerances
hold. Integers, bools and strings agree if they are equal. Quantized outputs of TensorFlow Lite may be
one step apart where a rule rounds in other places, as its own kernels are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from tfport.startup.dataclass import dataclass

# dtype: rtol, and atol as a fraction of the largest |b| of the output; about 1000, 100 and 10 ulps
DEFAULTS = {
    "float64": (1e-10, 1e-11),
    "float32": (1e-4, 1e-5),
    "float16": (2e-2, 4e-3),
    "bfloat16": (6e-2, 3e-2),
    "complex128": (1e-10, 1e-11),
    "complex64": (1e-4, 1e-5),
}
EIGHT_BITS = (0.25, 0.125)
"""The tolerances of floating-point types of eight bits or fewer, whose ulp is an eighth or a quarter."""
PARTS = {"complex64": np.float32, "complex128": np.float64}
"""The type of the real and the imaginary part of complex types."""


@dataclass(frozen=True, slots=True)
class NarrowestType:
    """The narrowest floating-point type in which an output is computed, and a node that computes in it."""

    kind: np.dtype[Any]
    node: str

    def __str__(self) -> str:
        return self.kind.name


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The caller's tolerances; None for the defaults of the dtype."""

    rtol: float | None = None
    atol: float | None = None
    steps: int = 0
    """By how many steps quantized outputs may differ: integers of eight or sixteen bits."""
    narrowest: NarrowestType | None = None
    """The narrowest type inside the model, if it is not the type of the output."""

    def judged_as(self, kind: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype whose tolerances hold for an output of a dtype."""
        inside = self.narrowest.kind if self.narrowest is not None else kind
        return inside if precision(inside) < precision(kind) else kind

    def of(self, kind: np.dtype[Any], largest: float) -> tuple[float, float]:
        """`rtol` and `atol` for a dtype, in an output with this largest number."""
        kind = self.judged_as(kind)
        rtol, part = DEFAULTS.get(kind.name, EIGHT_BITS)
        return (
            rtol if self.rtol is None else self.rtol,
            max(part * largest, smallest_normal(kind)) if self.atol is None else self.atol,
        )

    def words(self, kind: np.dtype[Any]) -> str:
        """The tolerances of a floating-point dtype, in words."""
        rtol, part = DEFAULTS.get(self.judged_as(kind).name, EIGHT_BITS)
        relative = rtol if self.rtol is None else self.rtol
        absolute = f"{part:g} of the largest number" if self.atol is None else f"{self.atol:g}"
        return f"rtol {relative:g}, atol {absolute}"


def smallest_normal(kind: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(PARTS.get(kind.name, kind)).smallest_normal)  # type: ignore[no-untyped-call]


def step_at_one(kind: np.dtype[Any]) -> float:
    """The distance from one to the next number of a dtype."""
    return float(ml_dtypes.finfo(PARTS.get(kind.name, kind)).eps)  # type: ignore[no-untyped-call]


@cache
def precision(kind: np.dtype[Any]) -> int:
    """The number of fraction bits of a floating-point or complex dtype."""
    return int(ml_dtypes.finfo(PARTS.get(kind.name, kind)).nmant)  # type: ignore[no-untyped-call]


def is_float(kind: np.dtype[Any]) -> bool:
    """Whether a dtype is floating-point or complex; those of `ml_dtypes` have kind void in numpy."""
    return kind.name.startswith(("float", "bfloat", "complex"))
