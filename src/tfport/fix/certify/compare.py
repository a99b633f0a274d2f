"""The difference of two outputs: absolute, relative and in ulps, and whether it is within the tolerance.

A tolerance of zero does not work for floating-point numbers, even if every rule is exact. An engine
chooses the order of a sum by the shapes and neighbors of an op, fuses a product with a following sum,
and has its own polynomial for `exp`: the same mathematics gives different last bits when the graph
around it changes, and a long sum of both signs loses digits by cancellation. So numbers agree if

    |a - b| <= atol + rtol * |b|

with an `atol` that grows with the largest number of the output, as rounding errors do. `atol` is at
least the smallest normal number, since engines may flush smaller numbers to zero. A model that computes
in a narrower type than its output has the rounding errors of that type (`narrowest`), so its tolerances
hold. If an output is usually large, and small in one trial, the small numbers are what remains of larger
ones, and have their rounding errors: for numbers up to one, the usual size counts.

Integers, bools and strings agree if they are equal. Quantized outputs of TensorFlow Lite may be one step
apart where a rule rounds elsewhere, as its own kernels are. Shapes and dtypes must always be equal.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
LONGEST_TEXT = 40


@dataclass(frozen=True, slots=True)
class NarrowestType:
    """The narrowest floating-point type in which an output is computed, and a node that computes in it."""

    dtype: np.dtype[Any]
    node: str

    def __str__(self) -> str:
        return self.dtype.name


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The caller's tolerances; None for the defaults of the dtype."""

    rtol: float | None = None
    atol: float | None = None
    steps: int = 0
    """By how many steps quantized outputs may differ: integers of eight or sixteen bits."""
    narrowest: NarrowestType | None = None
    """The narrowest type inside the model, if it is not the type of the output."""
    part: float | None = None
    """`atol` as a fraction of the largest number of the output, instead of that of the dtype."""

    def judged_as(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype whose tolerances hold for an output of a dtype."""
        inside = self.narrowest.dtype if self.narrowest is not None else dtype
        return inside if precision(inside) < precision(dtype) else dtype

    def of(self, dtype: np.dtype[Any], largest: float) -> tuple[float, float]:
        """`rtol` and `atol` for a dtype, in an output with this largest number."""
        dtype = self.judged_as(dtype)
        rtol, part = DEFAULTS.get(dtype.name, EIGHT_BITS)
        part = part if self.part is None else self.part
        return (
            rtol if self.rtol is None else self.rtol,
            max(part * largest, smallest_normal(dtype)) if self.atol is None else self.atol,
        )

    def words(self, dtype: np.dtype[Any]) -> str:
        """The tolerances of a floating-point dtype, in words."""
        rtol, part = DEFAULTS.get(self.judged_as(dtype).name, EIGHT_BITS)
        relative = rtol if self.rtol is None else self.rtol
        absolute = f"{part:g} of the largest number" if self.atol is None else f"{self.atol:g}"
        return f"rtol {relative:g}, atol {absolute}"


def smallest_normal(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(PARTS.get(dtype.name, dtype)).smallest_normal)  # type: ignore[no-untyped-call]


def step_at_one(dtype: np.dtype[Any]) -> float:
    """The distance from one to the next number of a dtype."""
    return float(ml_dtypes.finfo(PARTS.get(dtype.name, dtype)).eps)  # type: ignore[no-untyped-call]


@cache
def precision(dtype: np.dtype[Any]) -> int:
    """The number of fraction bits of a floating-point or complex dtype."""
    return int(ml_dtypes.finfo(PARTS.get(dtype.name, dtype)).nmant)  # type: ignore[no-untyped-call]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is floating-point or complex; those of `ml_dtypes` have kind void in numpy."""
    return dtype.name.startswith(("float", "bfloat", "complex"))


@dataclass(frozen=True, slots=True)
class WorstElement:
    """The element that is furthest beyond the tolerance."""

    index: tuple[int, ...]
    answer: str
    expected: str
    excess: float
    """The difference, divided by what the tolerance allows; infinite for integers and strings."""
    trial: str = ""

    def __str__(self) -> str:
        return f"element {list(self.index)} is {self.answer}; expected {self.expected}"


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """The difference of an output from the expected one, over all trials so far."""

    dtype: str = ""
    trials: int = 0
    elements: int = 0
    unequal: int = 0
    """Elements that are not equal; NaN equals NaN, and 0 equals -0."""
    beyond: int = 0
    """Elements beyond the tolerance."""
    absolute: float = 0.0
    """The largest absolute difference; infinite if only one side is NaN or infinite."""
    relative: float = 0.0
    ulps: int = 0
    """The largest difference in ulps; pairs with a NaN are not counted."""
    problem: str = ""
    """The first difference in shape or dtype."""
    largest: float = 0.0
    """The largest finite expected number."""
    rtol: float = 0.0
    atol: float = 0.0
    """The tolerances; `atol` in the trial with the largest numbers."""
    judged_as: str = ""
    """The dtype whose tolerances were used: the narrowest on the way to the output."""
    worst: WorstElement | None = None
    rows: int = 0
    """Rows along the last axis, of two elements or more; counted if a loss of accuracy is allowed."""
    same_argmax: int = 0
    """Rows whose largest element has the same index on both sides."""

    @property
    def alike(self) -> bool:
        return not self.beyond and not self.problem

    def in_trial(self, trial: str) -> OutputDifference:
        """The same, where the worst element has the name of its trial."""
        return self if self.worst is None else replace(self, worst=replace(self.worst, trial=trial))

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
            max(self.rtol, other.rtol),
            max(self.atol, other.atol),
            self.judged_as or other.judged_as,
            max((d.worst for d in (self, other) if d.worst), key=lambda w: w.excess, default=None),
            self.rows + other.rows,
            self.same_argmax + other.same_argmax,
        )


DEFAULT, NOTHING = Tolerance(), OutputDifference()


def compare(
    answer: Any, expected: Any, tolerance: Tolerance = DEFAULT, so_far: OutputDifference = NOTHING
) -> OutputDifference:
    """The difference of one output in one trial; the parts of a composite tensor are added up.

    `so_far` tells how large the output usually is.
    """
    if isinstance(expected, tuple) or isinstance(answer, tuple):
        return _parts(answer, expected, tolerance)
    a, b = np.asarray(answer), np.asarray(expected)
    difference = OutputDifference(_named(b), 1, b.size)
    if _named(a) != _named(b):
        return replace(difference, problem=f"it is {_named(a)}; expected {_named(b)}")
    if a.shape != b.shape:
        return replace(difference, problem=f"its shape is {list(a.shape)}; expected {list(b.shape)}")
    if is_float(b.dtype):
        return _floats(a, b, tolerance, difference, so_far.largest)
    return _whole(a, b, tolerance, replace(difference, judged_as=_named(b)))


def _whole(
    a: NDArray[Any], b: NDArray[Any], tolerance: Tolerance, difference: OutputDifference
) -> OutputDifference:
    """Integers, bools and strings: equal, or a few steps apart if they are quantized."""
    unequal = np.asarray(_texts(a) != _texts(b))
    beyond, absolute = unequal, 0.0
    if tolerance.steps and b.dtype.kind in "iu" and b.dtype.itemsize <= 2:
        apart = np.abs(a.astype(np.int64) - b.astype(np.int64))
        difference = replace(difference, atol=float(tolerance.steps))
        beyond, absolute = apart > tolerance.steps, float(apart.max(initial=0))
    return replace(
        difference,
        unequal=int(np.count_nonzero(unequal)),
        beyond=int(np.count_nonzero(beyond)),
        absolute=absolute,
        worst=_worst(a, b, np.where(beyond, np.inf, 0.0)),
    )


def _worst(a: NDArray[Any], b: NDArray[Any], excess: NDArray[Any]) -> WorstElement | None:
    """The element with the largest excess; None if none is beyond the tolerance."""
    if not excess.size or not excess.max() > 1:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
    return WorstElement(index, shown(a[index]), shown(b[index]), float(excess[index]))


def shown(element: Any) -> str:
    """An element of an array as short text."""
    if isinstance(element, bytes | str):
        text = repr(element[: LONGEST_TEXT + 1])
        return text if len(element) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
    dtype = np.asarray(element).dtype
    if dtype.name.startswith("complex"):
        return f"{complex(element):.7g}"
    return f"{float(element):.9g}" if is_float(dtype) else str(element)


def _parts(answer: Any, expected: Any, tolerance: Tolerance) -> OutputDifference:
    if not (isinstance(answer, tuple) and isinstance(expected, tuple)) or len(answer) != len(expected):
        return OutputDifference(trials=1, problem="its parts differ from the expected ones")
    total = OutputDifference()
    for a, b in zip(answer, expected, strict=True):
        total += compare(a, b, tolerance)
    return replace(total, trials=1)


def _named(array: NDArray[Any]) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _texts(array: NDArray[Any]) -> NDArray[Any]:
    """Strings as objects; numpy's own bytes would lose trailing zeros."""
    return array.astype(object) if array.dtype.kind in "SU" else array


def _floats(
    a: NDArray[Any], b: NDArray[Any], tolerance: Tolerance, difference: OutputDifference, usual: float
) -> OutputDifference:
    with np.errstate(all="ignore"):
        exact_a, exact_b = _exact(a), _exact(b)
        equal = (exact_a == exact_b) | (np.isnan(exact_a) & np.isnan(exact_b))
        size = np.abs(exact_b)
        difference = replace(difference, largest=float(size[np.isfinite(size)].max(initial=0.0)))
        rtol, atol = tolerance.of(b.dtype, max(difference.largest, min(usual, 1.0)))
        difference = replace(difference, rtol=rtol, atol=atol, judged_as=tolerance.judged_as(b.dtype).name)
        if tolerance.part is not None and b.dtype.kind != "c" and b.size and b.shape[-1:] > (1,):
            same = exact_a.argmax(-1) == exact_b.argmax(-1)
            difference = replace(difference, rows=same.size, same_argmax=int(np.count_nonzero(same)))
        if equal.all():
            return difference
        apart = np.where(equal, 0.0, np.abs(exact_a - exact_b))
        apart = np.where(np.isnan(apart), np.inf, apart)
        # an infinite |b| would allow everything
        allowed = atol + rtol * np.where(np.isfinite(size), size, 0.0)
        relative = np.where(apart > 0, apart / size, 0.0)
        return replace(
            difference,
            unequal=int(np.count_nonzero(~equal)),
            beyond=int(np.count_nonzero(apart > allowed)),
            absolute=float(apart.max()),
            relative=float(np.where(np.isnan(relative), np.inf, relative).max()),
            ulps=steps_apart(a, b),
            worst=_worst(a, b, _excess(apart, allowed)),
        )


def _excess(apart: NDArray[Any], allowed: NDArray[Any]) -> NDArray[Any]:
    """Each difference, divided by what is allowed."""
    return np.where(apart > allowed, np.where(allowed > 0, apart / allowed, np.inf), 0.0)


def _exact(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a dtype that represents all of them exactly."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def steps_apart(a: NDArray[Any], b: NDArray[Any]) -> int:
    """The largest distance of two elements in ulps, counted through zero; NaN is ignored."""
    if a.dtype.name in PARTS:
        part = PARTS[a.dtype.name]
        a, b = (np.ascontiguousarray(array).reshape(-1).view(part) for array in (a, b))
    known = ~(np.isnan(a) | np.isnan(b))
    if not known.any():
        return 0
    x, y = _ordinals(a[known]), _ordinals(b[known])
    # unsigned, since the distance of two doubles may exceed a signed integer
    apart = np.where(
        x > y, x.astype(np.uint64) - y.astype(np.uint64), y.astype(np.uint64) - x.astype(np.uint64)
    )
    return int(apart.max())


def _ordinals(array: NDArray[Any]) -> NDArray[Any]:
    """The index of each number among all numbers of its dtype: the bits, as a signed integer."""
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"u{width}").astype(np.uint64)
    sign = np.uint64(1 << (8 * width - 1))
    if array.dtype.name == "float4_e2m1fn":  # four bits in a byte
        sign = np.uint64(8)
    size = (bits & (sign - np.uint64(1))).astype(np.int64)
    return np.where(bits & sign != 0, -size, size)
