"""Select ops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import boolean, f32, numbers, scalar, strings

from tfport.fix.rules.array.order import all_of_one_shape, as_select_v2, where_not_zero

V2, V1 = "y = SelectV2(c, t, e) {T=float32}", "y = Select(c, t, e) {T=float32}"
COLUMN = boolean([True], [False])
CASES = [
    rule_case(all_of_one_shape, V2, c=boolean(True, False), t=f32(1, 2), e=f32(-0.0, np.nan)),
    rule_case(all_of_one_shape, V2, c=boolean(True, False), t=numbers(3, 2), e=numbers(3, 2, seed=1)),
    rule_case(all_of_one_shape, V2, c=COLUMN, t=numbers(2, 3), e=np.float32(0)),
    rule_case(all_of_one_shape, V2, c=COLUMN, t=numbers(2, 3), e=np.float32(0), open=("c", "t", "e")),
    rule_case(all_of_one_shape, V2, c=COLUMN, t=numbers(1, 3), e=numbers(2, 1, 1), open=("c", "t", "e")),
    rule_case(all_of_one_shape, V2, c=scalar(True, bool), t=f32(1, 2), e=f32(3, 4)),
    rule_case(all_of_one_shape, V2, c=scalar(False, bool), t=f32(1, 2), e=f32(3, 4), open=("t", "e")),
    rule_case(all_of_one_shape, V2, c=scalar(True, bool), t=np.float32(1), e=np.float32(2)),
    rule_case(all_of_one_shape, V2, c=np.zeros((0, 1), bool), t=numbers(1, 3), e=np.float32(1)),
    rule_case(all_of_one_shape, "y = SelectV2(c, t, e) {T=string}", c=COLUMN, t=strings("a", "b"),
              e=strings("")),
    rule_case(all_of_one_shape, "y = SelectV2(c, t, e) {T=bool}", c=COLUMN, t=boolean(True, False),
              e=boolean(False), open=("t",)),
    rule_case(as_select_v2, V1, c=boolean(True, False), t=numbers(2, 3), e=numbers(2, 3, seed=1)),
    rule_case(as_select_v2, V1, c=boolean(True, False), t=numbers(2, 2), e=numbers(2, 2), open=("c", "t")),
    rule_case(as_select_v2, V1, c=scalar(True, bool), t=numbers(2, 3), e=numbers(2, 3, seed=1)),
    rule_case(as_select_v2, V1, c=boolean([True, False]), t=numbers(1, 2), e=numbers(1, 2, seed=1)),
    rule_case(where_not_zero, "y = Where(x) {T=float32}", x=f32(0, -0.0, np.nan, 1)),
    rule_case(where_not_zero, "y = Where(x) {T=int64}", x=numbers(3, 2, kind=np.int64), open=("x",)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_truth_values_are_taken():
    assert_refuses(where_not_zero, "y = Where(x) {T=bool}", because="bool already", x=boolean(True))


def test_rows_need_a_rank():
    text = "a = Reshape(t, s) {T=float32}\ny = Select(c, a, a) {T=float32}"
    assert_refuses(
        as_select_v2, text, because="ranks", c=boolean(True), t=f32(1), s=np.array([1, 1]), open=("s",)
    )


@pytest.mark.parametrize("c", [c for c in CASES if c.rule is not as_select_v2], ids=str)
def test_a_target_without_it_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, constants=c.constants, **c.feeds))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), max_size=3), st.booleans(), st.data())
def test_any_shapes(shape, known, data):
    def narrower():
        return [
            data.draw(st.sampled_from((1, size))) for size in shape[data.draw(st.integers(0, len(shape))) :]
        ]

    c, t, e = numbers(*narrower()) > 0, numbers(*narrower()), numbers(*narrower(), seed=1)
    check(rule_case(all_of_one_shape, V2, c=c, t=t, e=e, open=() if known else ("c", "t", "e")))
