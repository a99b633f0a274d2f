"""Clipping, and checks for NaN and infinity."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i8, i32, i64, numbers

from tfport.fix.rules.math.arithmetic import (
    as_check_numerics,
    as_check_numerics_v2,
    below_then_above,
    replaced_by_bounds,
)

CLIP = "y = ClipByValue(x, a, b) {T=float32}"
BOUNDS = {"constants": ("a", "b")}
LOW, HIGH = np.float32(-0.5), np.float32(0.5)


def clip(kind):
    return f"y = ClipByValue(x, a, b) {{T={kind}}}"


CASES = [
    rule_case(below_then_above, CLIP, x=f32(-3, -0.0, 0.5, np.inf, -np.inf, np.nan), a=LOW, b=HIGH, **BOUNDS),
    rule_case(below_then_above, CLIP, x=f32(1, 2), a=np.float32(3), b=np.float32(-3), **BOUNDS),
    rule_case(
        below_then_above, CLIP, x=numbers(2, 3), a=numbers(2, 3, seed=1), b=HIGH, open=("x",), **BOUNDS
    ),
    rule_case(below_then_above, CLIP, x=numbers(0, 3), a=LOW, b=HIGH, **BOUNDS),
    rule_case(below_then_above, clip("int64"), x=i64(-9, 0, 9), a=np.int64(-1), b=np.int64(3)),
    rule_case(below_then_above, clip("int8"), x=i8(-9, 0, 9), a=np.int8(-1), b=np.int8(3)),
    rule_case(below_then_above, clip("int32"), x=i32(-9, 0, 9), a=np.int32(-1), b=np.int32(3)),
    rule_case(replaced_by_bounds, CLIP, x=f32(-3, -0.0, 0.5, np.inf, -np.inf, np.nan), a=LOW, b=HIGH),
    rule_case(replaced_by_bounds, CLIP, x=f32(1, 2), a=np.float32(3), b=np.float32(-3), open=("x",)),
    rule_case(replaced_by_bounds, CLIP, x=numbers(3, 20), a=np.float32(np.nan), b=HIGH),
    rule_case(replaced_by_bounds, CLIP, x=numbers(3, 20), a=LOW, b=np.float32(np.nan)),
    rule_case(replaced_by_bounds, CLIP, x=numbers(2, 3), a=numbers(2, 3, seed=1), b=numbers(2, 3, seed=2)),
    rule_case(replaced_by_bounds, clip("int32"), x=i32(-9, 0, 9), a=np.int32(-1), b=np.int32(3)),
    rule_case(as_check_numerics, 'y = CheckNumericsV2(x) {T=float32, message="m"}', x=f32(1, -0.0)),
    rule_case(as_check_numerics_v2, 'y = CheckNumerics(x) {T=float32, message="m"}', x=f32(1, -0.0)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES[:-1], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, constants=c.constants, **c.feeds))


def test_refuses():
    inputs = {"x": f32(1), "a": LOW, "b": HIGH}
    assert_refuses(below_then_above, CLIP, because="may be NaN", **inputs)
    types = dict.fromkeys("xab", "complex64")
    assert_refuses(replaced_by_bounds, clip("complex64"), because="cannot be compared", types=types, **inputs)
