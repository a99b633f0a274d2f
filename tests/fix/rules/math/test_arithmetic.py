"""Elementwise arithmetic with older and newer ops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f16, f32, f64, i16, i32, numbers, strings, u8

from tfport.fix.rules.math.arithmetic import (
    as_add,
    as_add_v2,
    as_div,
    by_its_other_name,
    division_by_type,
    product_or_zero,
    quotient_or_zero,
    rounded_towards_zero,
    zero_or_log,
    zero_or_quotient,
)

EDGES = f32(0.0, -0.0, 1.5, -2, np.inf, -np.inf, np.nan, 3e-41)
COLUMN = EDGES[:, None]


def binary(op, kind="float32"):
    return f"y = {op}(a, b) {{T={kind}}}"


CASES = [
    rule_case(as_add, binary("AddV2"), a=EDGES, b=COLUMN),
    rule_case(as_add, binary("AddV2", "int16"), a=i16(32767, 1), b=i16(1), open=("a",)),
    rule_case(as_add_v2, binary("Add"), a=EDGES, b=COLUMN),
    rule_case(division_by_type, binary("Div"), a=EDGES, b=COLUMN),
    rule_case(division_by_type, binary("Div", "int32"), a=i32(7, -7), b=i32(2, 2)),
    rule_case(rounded_towards_zero, binary("TruncateDiv", "int32"), a=i32(7, -7, -7, 7, -8, 0),
              b=i32(2, 2, -2, -2, 2, -3)),
    rule_case(rounded_towards_zero, binary("Div", "uint8"), a=u8(7, 200), b=u8(2, 3)),
    rule_case(as_div, binary("RealDiv"), a=EDGES, b=COLUMN),
    rule_case(as_div, binary("TruncateDiv", "uint8"), a=u8(7, 200), b=u8(2, 3)),
    rule_case(by_its_other_name, binary("Mod", "int32"), a=i32(7, -7), b=i32(-3, 3)),
    rule_case(by_its_other_name, binary("TruncateMod"), a=f32(7, -7), b=f32(-3, 3)),
    rule_case(by_its_other_name, "y = Inv(a) {T=float32}", a=EDGES),
    rule_case(by_its_other_name, "y = Reciprocal(a) {T=float32}", a=EDGES),
    *[
        rule_case(rule, binary(op, kind), a=kind_of(a), b=kind_of(b), open=opened)
        for op, rule in (
            ("DivNoNan", quotient_or_zero),
            ("MulNoNan", product_or_zero),
            ("Xdivy", zero_or_quotient),
            ("Xlogy", zero_or_log),
            ("Xlog1py", zero_or_log),
        )
        for kind, kind_of, a, b, opened in (
            ("float32", np.float32, EDGES, COLUMN, ()),
            ("float32", np.float32, COLUMN, EDGES, ("a", "b")),
            ("float64", np.float64, f64(0, 2, np.nan), f64(1, 0, 0), ()),
            ("float32", np.float32, f32(0, 2, np.nan), np.float32(0), ("a",)),
            ("float32", np.float32, np.float32(0), np.zeros((0, 3), np.float32), ()),
        )
    ],
    rule_case(quotient_or_zero, binary("DivNoNan", "float16"), a=f16(1, 0, 3), b=f16(3, 0, 0)),
    rule_case(quotient_or_zero, binary("DivNoNan", "complex64"), a=numbers(2, kind=np.complex64),
              b=np.array([0, 1 + 2j], np.complex64)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_answers_stay(c):
    check(c)


def test_strings_are_joined_by_add_only():
    assert_refuses(
        as_add_v2, binary("Add", "string"), because="not support strings", a=strings("a"), b=strings("b")
    )


def test_integers_have_a_quotient_of_their_own():
    assert_refuses(as_div, binary("RealDiv", "int32"), because="for int32", a=i32(1), b=i32(2))


NEW = ("AddV2", "DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py")


@pytest.mark.parametrize("c", [c for c in CASES if any(f"= {op}(" in c.text for op in NEW)], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(NEW[1:4]),
    st.sampled_from([(2, 3), (1, 3), (3,), ()]),
    st.sampled_from([(2, 1), (3,), ()]),
)
def test_any_broadcast(op, left, right):
    rule = {"DivNoNan": quotient_or_zero, "MulNoNan": product_or_zero, "Xdivy": zero_or_quotient}[op]
    a, b = numbers(*left).round(), numbers(*right, seed=1).round()
    check(rule_case(rule, binary(op), a=a, b=b, open=("a",)))
