"""Differences of outputs for each dtype, and the tolerances."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tfport.fix.certify.compare import OutputDifference, Tolerance, compare, smallest_normal, steps_apart

F32, F64, HALF, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
E4M3, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
INF, NAN = np.inf, np.nan
TINY = {F32: 2.0**-149, F64: 2.0**-1074, HALF: 2.0**-24, BF16: 2.0**-133}

ULPS = [  # type   a                     b                          steps
    (F32, 1.0, np.nextafter(F32(1), F32(2)), 1),
    (F32, 1.0, np.nextafter(F32(1), F32(0)), 1),
    (F32, 0.0, -0.0, 0),
    (F32, TINY[F32], 0.0, 1),
    (F32, TINY[F32], -TINY[F32], 2),
    (F32, -TINY[F32], 0.0, 1),
    (F32, INF, np.finfo(F32).max, 1),
    (F32, -1.0, -2.0, 1 << 23),
    (F64, 1.0, np.nextafter(1.0, 2.0), 1),
    (F64, TINY[F64], -TINY[F64], 2),
    (F64, -INF, INF, 2 * 0x7FF0000000000000),
    (HALF, 1.0, 1.0009765625, 1),
    (HALF, TINY[HALF], -TINY[HALF], 2),
    (BF16, 1.0, 1.0078125, 1),
    (BF16, TINY[BF16], -TINY[BF16], 2),
    (BF16, 1.0, 2.0, 128),
    (E4M3, 1.0, 1.125, 1),
    (E2M1, 1.0, 1.5, 1),
    (E2M1, 0.5, -0.5, 2),
    (F32, NAN, 1.0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "a", "b", "steps"), ULPS)
def test_steps_are_counted_through_zero(kind, a, b, steps):
    first, other = np.array([a], kind), np.array([b], kind)
    assert steps_apart(first, other) == steps_apart(other, first) == steps


def test_steps_of_complex_numbers_are_those_of_their_parts():
    a = np.array([1 + 2j], np.complex64)
    b = np.array([complex(1, np.nextafter(F32(2), F32(3)))], np.complex64)
    assert steps_apart(a, b) == 1


ALIKE = [  # what, answer, expected
    ("NaN and NaN", F32([NAN]), F32([NAN])),
    ("the same infinities", F32([INF, -INF]), F32([INF, -INF])),
    ("zeros of both signs", F32([0.0]), F32([-0.0])),
    ("rounding", F32([1.00005]), F32([1.0])),
    ("a sum that cancelled, beside large numbers", F32([1e-3, 1000.0]), F32([0.0, 1000.0])),
    ("denormal that an engine flushes to zero", F32([1e-45]), F32([0.0])),
    ("a step of bfloat16", np.array([1.0], BF16), np.array([1.0078125], BF16)),
    ("strings", np.array([b"a\0", b""], object), np.array([b"a\0", b""], object)),
    ("strings in different dtypes", np.array([b"ab"], "S2"), np.array([b"ab"], object)),
    ("nothing", F32([]), F32([])),
    ("parts", (F32([1]), np.int64([0, 1])), (F32([1]), np.int64([0, 1]))),
    ("complex", np.complex64([1 + 1j]), np.complex64([1 + 1.00001j])),
    ("int4", np.array([1, -2], ml_dtypes.int4), np.array([1, -2], ml_dtypes.int4)),
]
DIFFERENT = [  # what, answer, expected, elements beyond, problem
    ("a NaN for a number", F32([NAN]), F32([1.0]), 1, ""),
    ("a number for a NaN", F32([1.0]), F32([NAN]), 1, ""),
    ("other infinities", F32([INF]), F32([-INF]), 1, ""),
    ("an overflow", F32([INF]), F32([3e38]), 1, ""),
    ("a finite number for an infinity", F32([3e38]), F32([INF]), 1, ""),
    ("one element in three", F32([1, 2, 3]), F32([1, 2, 3.1]), 1, ""),
    ("float64 with the digits of float32", np.array([1.0 + 1e-7]), np.array([1.0]), 1, ""),
    ("whole numbers", np.int64([1, 2]), np.int64([1, 3]), 1, ""),
    ("truth values", np.array([True]), np.array([False]), 1, ""),
    ("a zero at the end of a string", np.array([b"a\0"], object), np.array([b"a"], object), 1, ""),
    ("another type", F64([1]), F32([1]), 0, "it is float64; expected float32"),
    ("another shape", F32([[1]]), F32([1]), 0, "its shape is [1, 1]; expected [1]"),
    ("strings for numbers", np.array([b"1"], object), F32([1]), 0, "it is string; expected float32"),
    ("fewer parts", (F32([1]),), (F32([1]), F32([1])), 0, "its parts differ from the expected ones"),
    ("no parts", F32([1]), (F32([1]), F32([1])), 0, "its parts differ from the expected ones"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "expected"), [c[1:] for c in ALIKE], ids=[c[0] for c in ALIKE])
def test_these_are_alike(answer, expected):
    assert compare(answer, expected).alike


@pytest.mark.parametrize(
    ("answer", "expected", "beyond", "problem"), [c[1:] for c in DIFFERENT], ids=[c[0] for c in DIFFERENT]
)
def test_these_differ(answer, expected, beyond, problem):
    difference = compare(answer, expected)
    assert not difference.alike
    assert (difference.beyond, difference.problem) == (beyond, problem)


def test_zeros_are_judged_by_what_the_output_was_before():
    assert not compare(F32([1e-6]), F32([0.0])).alike
    assert compare(F32([1e-6]), F32([0.0]), so_far=OutputDifference(largest=1.0)).alike


@pytest.mark.parametrize(
    ("rtol", "atol", "alike"), [(None, None, False), (0.2, None, True), (None, 0.2, True), (0.0, 0.0, False)]
)
def test_the_caller_may_say_what_is_too_far(rtol, atol, alike):
    assert compare(F32([1.1]), F32([1.0]), Tolerance(rtol, atol)).alike is alike


def test_differences_add_up_to_the_largest_of_each():
    total = compare(F32([1.5]), F32([1.0])) + compare(F32([100.0]), F32([101.0]))
    assert (total.trials, total.elements, total.unequal) == (2, 2, 2)
    assert total.absolute == 1.0
    assert total.relative == 0.5


FLOATS = arrays.arrays(np.float32, st.integers(0, 5), elements=st.floats(width=32, allow_nan=True))


@given(FLOATS)
def test_every_answer_is_like_itself(array):
    difference = compare(array, array.copy())
    assert difference.alike
    assert (difference.unequal, difference.absolute, difference.ulps) == (0, 0.0, 0)


@given(
    st.floats(width=32, allow_nan=False),
    st.floats(width=32, allow_nan=False),
    st.floats(width=32, allow_nan=False),
)
def test_steps_add_up_along_the_line(a, b, c):
    low, middle, high = (np.array([x], np.float32) for x in sorted((a, b, c)))
    assert steps_apart(low, high) == steps_apart(low, middle) + steps_apart(middle, high)


@given(FLOATS)
def test_what_is_refused_is_further_than_the_formula_says(array):
    with np.errstate(all="ignore"):
        other = array * np.float32(1.001)
        difference = compare(other, array)
        size = np.abs(array.astype(np.float64))
        finite = np.isfinite(size)
        allowed = 1e-4 * np.where(finite, size, 0) + max(
            1e-5 * size[finite].max(initial=0), smallest_normal(array.dtype)
        )
        apart = np.abs(other.astype(np.float64) - array.astype(np.float64))
        same = (other == array) | (np.isnan(other) & np.isnan(array))
    assert difference.beyond == np.count_nonzero(~same & ~(apart <= allowed))


@pytest.mark.parametrize(("usual", "alike"), [(1.0, True), (1e6, True), (1e-6, False)])
def test_small_answers_of_an_output_with_large_ones_are_what_is_left_of_those(usual, alike):
    before = compare(np.float32([usual]), np.float32([usual]))
    difference = compare(np.float32([5.005e-5]), np.float32([5e-5]), Tolerance(), before)
    assert difference.alike is alike
