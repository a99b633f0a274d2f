"""How far two answers are apart: absolutely, relatively, in steps of their type, and whether that is much.

Zero is no sensible tolerance for floating-point numbers even where every rule is exact. An engine
chooses how to sum by the shapes and neighbours of an op, fuses a product with the sum behind it, and
takes its own polynomial for `exp`: the same mathematics gives other last bits once the graph around it
changes, and a long sum of both signs loses as many digits as cancel. So numbers are alike where

    |a - b| <= atol + rtol * |b|

with an `atol` that grows with the largest number of the output, as rounding errors do. Where an output
has large numbers usually and small ones in some trial, they are what is left of larger ones, and are
as uncertain as those: of numbers up to one the usual size counts. Nor is `atol` ever smaller than the
smallest normal number, since engines may take what is smaller for zero. Whole numbers, truth values and
strings are alike where they are equal; shapes and types always must be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

# type: rtol, and atol as a part of the largest |b| of the output; some 1000, 100 and 10 steps of each type
DEFAULTS = {
    "float64": (1e-10, 1e-11),
    "float32": (1e-4, 1e-5),
    "float16": (2e-2, 4e-3),
    "bfloat16": (6e-2, 3e-2),
    "complex128": (1e-10, 1e-11),
    "complex64": (1e-4, 1e-5),
}
EIGHT_BITS = (0.25, 0.125)
"""What floating-point types of eight bits or fewer get: a step of them is an eighth or a quarter."""
_PARTS = {"complex64": np.float32, "complex128": np.float64}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What the caller allows; None is the type's own."""

    rtol: float | None = None
    atol: float | None = None

    def of(self, kind: np.dtype[Any], largest: float) -> tuple[float, float]:
        """`rtol` and `atol` for a type, in an output whose largest number is this."""
        rtol, part = DEFAULTS.get(kind.name, EIGHT_BITS)
        return (
            rtol if self.rtol is None else self.rtol,
            max(part * largest, smallest_normal(kind)) if self.atol is None else self.atol,
        )


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """How far an output was from what was expected, over all trials so far."""

    dtype: str = ""
    trials: int = 0
    elements: int = 0
    unequal: int = 0
    """Elements that are not the same bits; NaN equals NaN, and 0 equals -0."""
    beyond: int = 0
    """Elements that are further apart than is allowed."""
    absolute: float = 0.0
    """The largest; infinite where a NaN or an infinity stands against something else."""
    relative: float = 0.0
    ulps: int = 0
    """Steps of the type between the two; whatever stands against a NaN is not counted."""
    problem: str = ""
    """The first shape or type that is another."""
    largest: float = 0.0
    """The largest finite number that was expected."""

    @property
    def alike(self) -> bool:
        return not self.beyond and not self.problem

    def __add__(self, other: OutputDifference) -> OutputDifference:
        return OutputDifference(
            self.dtype or other.dtype,
            self.trials + other.trials,
            self.elements + other.elements,
            self.unequal + other.unequal,
            self.beyond + other.beyond,
            max(self.absolute, other.absolute),
            max(self.relative, other.relative),
            max(self.ulps, other.ulps),
            self.problem or other.problem,
            max(self.largest, other.largest),
        )


DEFAULT, NOTHING = Tolerance(), OutputDifference()


def compare(
    answer: Any, expected: Any, tolerance: Tolerance = DEFAULT, so_far: OutputDifference = NOTHING
) -> OutputDifference:
    """The difference of one output in one trial; of several parts, all of theirs together.

    Where all that is expected is zero, what the output was in the trials so far tells how large it is.
    """
    if isinstance(expected, tuple) or isinstance(answer, tuple):
        return _parts(answer, expected, tolerance)
    a, b = np.asarray(answer), np.asarray(expected)
    found = OutputDifference(_named(b), 1, b.size)
    if _named(a) != _named(b):
        return replace(found, problem=f"it is {_named(a)}; expected {_named(b)}")
    if a.shape != b.shape:
        return replace(found, problem=f"its shape is {list(a.shape)}; expected {list(b.shape)}")
    if is_float(b.dtype):
        return _floats(a, b, tolerance, found, so_far.largest)
    unequal = int(np.count_nonzero(_texts(a) != _texts(b))) if b.size else 0
    return replace(found, unequal=unequal, beyond=unequal)


def _parts(answer: Any, expected: Any, tolerance: Tolerance) -> OutputDifference:
    if not (isinstance(answer, tuple) and isinstance(expected, tuple)) or len(answer) != len(expected):
        return OutputDifference(trials=1, problem="it has other parts than were expected")
    total = OutputDifference()
    for a, b in zip(answer, expected, strict=True):
        total += compare(a, b, tolerance)
    return replace(total, trials=1)


def smallest_normal(kind: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(_PARTS.get(kind.name, kind)).smallest_normal)  # type: ignore[no-untyped-call]


def step_at_one(kind: np.dtype[Any]) -> float:
    """How far the number after one is from it."""
    return float(ml_dtypes.finfo(_PARTS.get(kind.name, kind)).eps)  # type: ignore[no-untyped-call]


def is_float(kind: np.dtype[Any]) -> bool:
    """Whether these are numbers that get rounded; those of `ml_dtypes` are void to numpy."""
    return kind.name.startswith(("float", "bfloat", "complex"))


def _named(array: NDArray[Any]) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _texts(array: NDArray[Any]) -> NDArray[Any]:
    """Strings as bytes, whatever holds them; numpy's own bytes would lose zeros at their ends."""
    return array.astype(object) if array.dtype.kind in "SU" else array


def _floats(
    a: NDArray[Any], b: NDArray[Any], tolerance: Tolerance, found: OutputDifference, usual: float
) -> OutputDifference:
    with np.errstate(all="ignore"):
        exact_a, exact_b = _exact(a), _exact(b)
        equal = (exact_a == exact_b) | (np.isnan(exact_a) & np.isnan(exact_b))
        size = np.abs(exact_b)
        found = replace(found, largest=float(size[np.isfinite(size)].max(initial=0.0)))
        if equal.all():
            return found
        apart = np.where(equal, 0.0, np.abs(exact_a - exact_b))
        apart = np.where(np.isnan(apart), np.inf, apart)
        rtol, atol = tolerance.of(b.dtype, max(found.largest, min(usual, 1.0)))
        # an infinite |b| would allow everything
        allowed = atol + rtol * np.where(np.isfinite(size), size, 0.0)
        relative = np.where(apart > 0, apart / size, 0.0)
        return replace(
            found,
            unequal=int(np.count_nonzero(~equal)),
            beyond=int(np.count_nonzero(apart > allowed)),
            absolute=float(apart.max()),
            relative=float(np.where(np.isnan(relative), np.inf, relative).max()),
            ulps=steps_apart(a, b),
        )


def _exact(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a type that holds them all and can be computed with."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def steps_apart(a: NDArray[Any], b: NDArray[Any]) -> int:
    """The most numbers of the type that lie between two elements, counted through zero; NaN is none."""
    if a.dtype.name in _PARTS:
        part = _PARTS[a.dtype.name]
        a, b = (np.ascontiguousarray(one).reshape(-1).view(part) for one in (a, b))
    known = ~(np.isnan(a) | np.isnan(b))
    if not known.any():
        return 0
    x, y = _places(a[known]), _places(b[known])
    # as unsigned numbers: two doubles can be further apart than a signed one counts
    apart = np.where(
        x > y, x.astype(np.uint64) - y.astype(np.uint64), y.astype(np.uint64) - x.astype(np.uint64)
    )
    return int(apart.max())


def _places(array: NDArray[Any]) -> NDArray[Any]:
    """Where each number stands among all of its type: the bits, with the sign as a sign."""
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"u{width}").astype(np.uint64)
    sign = np.uint64(1 << (8 * width - 1))
    if array.dtype.name == "float4_e2m1fn":  # four bits in a byte
        sign = np.uint64(8)
    size = (bits & (sign - np.uint64(1))).astype(np.int64)
    return np.where(bits & sign != 0, -size, size)
