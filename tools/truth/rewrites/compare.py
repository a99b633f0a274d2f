"""The difference of two outputs: absolute, relative to the largest expected number, and in ulps.

Ulps are counted in the type of the answer: how many numbers of it lie between the two. Of integers,
bools and strings only those are counted that differ. Two NaNs are the same.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

FAR = float("inf")


@dataclass(frozen=True)
class Difference:
    """The largest difference of one output, over all inputs that were tried."""

    dtype: str
    elements: int
    absolute: float = 0.0
    relative: float = 0.0
    """The absolute difference divided by the largest expected number."""
    ulps: float = 0
    differ: int = 0
    """How many elements are not the same."""

    def within(self, relative: float) -> bool:
        """Whether floats are within a tolerance, and everything else is equal."""
        return self.relative <= relative if rounds(self.dtype) else not self.differ

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def difference(actual: np.ndarray, expected: np.ndarray) -> Difference | str:
    """The difference of an output from the expected one; a message if they are not comparable."""
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    if actual.dtype != expected.dtype:
        return f"{actual.dtype}, expected {expected.dtype}"
    name, size = "string" if expected.dtype == object else str(expected.dtype), expected.size
    if not rounds(name):
        wrong = sum(a != b for a, b in zip(actual.flat, expected.flat, strict=True))
        return Difference(name, size, differ=int(wrong))
    a, b = real(actual), real(expected)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    absolute = largest(np.abs(wide(a[~same]) - wide(b[~same])))
    scale = largest(np.abs(wide(b))[np.isfinite(wide(b))])
    return Difference(
        name,
        size,
        absolute,
        0.0 if not absolute else absolute / scale if scale else FAR,
        FAR if np.isnan(a[~same]).any() or np.isnan(b[~same]).any() else largest(ulps(a[~same], b[~same])),
        int((~same).sum()),
    )


def rounds(dtype: str) -> bool:
    return "float" in dtype or "complex" in dtype


def real(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs."""
    if array.dtype.kind != "c":
        return np.atleast_1d(array)
    return np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def largest(numbers: np.ndarray) -> float:
    """A NaN on one side only counts as infinitely far."""
    return FAR if np.isnan(numbers.astype(np.float64)).any() else float(numbers.max(initial=0))


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance in ulps."""
    a, b = rank(a), rank(b)
    across_zero = np.abs(wide(a)) + np.abs(wide(b))  # may exceed int64
    return np.where((a < 0) != (b < 0), across_zero, np.abs(a - b))


def rank(array: np.ndarray) -> np.ndarray:
    """The index of each number among all numbers of its dtype, zero for both zeros."""
    size = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"i{size}").astype(np.int64)
    return np.where(bits < 0, np.int64(-(1 << (8 * size - 1))) - bits, bits)


def worst(differences: Iterable[Difference]) -> Difference:
    """The largest differences of one output over several inputs."""
    all_of = list(differences)
    return Difference(
        all_of[0].dtype,
        sum(d.elements for d in all_of),
        max(d.absolute for d in all_of),
        max(d.relative for d in all_of),
        max(d.ulps for d in all_of),
        sum(d.differ for d in all_of),
    )


def spread(answers: Iterable[np.ndarray]) -> float | None:
    """How far rows of answers are from the first, beside the largest number; None where there is but one.

    Of strings it is 1 where they differ. A model that always says the same is that far off.
    """
    arrays = [np.atleast_1d(a) for a in answers]
    rows = np.concatenate([a for a in arrays if a.shape[1:] == arrays[0].shape[1:]])
    if len(rows) < 2 or not rows.size:
        return None
    if rows.dtype == object:
        return float((rows != rows[:1]).any())
    numbers = rows if rows.dtype.kind == "c" else wide(rows)
    numbers = np.where(np.isfinite(numbers), numbers, 0)
    scale = largest(np.abs(numbers))
    return largest(np.abs(numbers - numbers[:1])) / scale if scale else 0.0
