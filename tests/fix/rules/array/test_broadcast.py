"""Tensors repeated along axes of size one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import boolean, f32, i8, i32, i64, numbers, strings

from tfport.fix.rules.array.broadcast import common_shape, filled_alike, or_false, tiled

TO = "y = BroadcastTo(x, s) {T=float32}"
ARGS = "y = BroadcastArgs(a, b) {T=int32}"
CASES = [
    rule_case(tiled, TO, x=f32(1, -0.0, np.nan), s=i32(2, 3)),
    rule_case(tiled, TO, x=f32(1, -0.0, np.inf), s=i32(2, 3), constants=("s",)),
    rule_case(tiled, TO, x=numbers(2, 3), s=i32(2, 3), constants=("s",)),
    rule_case(tiled, TO, x=np.float32(7), s=i32(2, 3), open=("s",)),
    rule_case(tiled, TO, x=numbers(2, 1, 3), s=i32(4, 2, 0, 3), open=("x", "s")),
    rule_case(tiled, TO, x=numbers(0, 1), s=i32(0, 5), open=("x",)),
    rule_case(tiled, TO, x=np.float32(7), s=i32(), open=("s",)),
    rule_case(tiled, "y = BroadcastTo(x, s) {T=string, Tidx=int64}", x=strings(["a"], [""]), s=i64(2, 3)),
    rule_case(tiled, "y = BroadcastTo(x, s) {T=int8}", x=i8(1, 2), s=i32(3, 2)),
    rule_case(tiled, "y = BroadcastTo(x, s) {T=bool}", x=boolean(True, False), s=i32(3, 2)),
    rule_case(or_false, "y = BroadcastTo(x, s) {T=bool}", x=boolean([True], [False]), s=i32(2, 3)),
    rule_case(common_shape, ARGS, a=i32(2, 1, 3), b=i32(4, 1)),
    rule_case(common_shape, ARGS, a=i32(), b=i32(4, 1, 0), open=("a", "b")),
    rule_case(common_shape, "y = BroadcastArgs(a, b) {T=int64}", a=i64(0, 1), b=i64(1, 1, 7)),
    rule_case(filled_alike, "y = OnesLike(x) {T=float32}", x=f32(1, np.nan), open=("x",)),
    rule_case(filled_alike, "y = ZerosLike(x) {T=string}", x=strings("a", "b")),
    rule_case(filled_alike, "y = OnesLike(x) {T=bool}", x=boolean(False)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_numbers_are_no_truth_values():
    assert_refuses(or_false, TO, because="float32, not bool", x=f32(1), s=i32(2))


@pytest.mark.parametrize("c", [c for c in CASES if c.rule is not common_shape], ids=str)
def test_a_target_without_it_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, constants=c.constants, **c.feeds))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), max_size=4), st.data())
def test_any_shape(shape, data):
    own = [data.draw(st.sampled_from((1, size))) for size in shape[data.draw(st.integers(0, len(shape))) :]]
    check(rule_case(tiled, TO, x=numbers(*own), s=np.array(shape, np.int32), open=("x", "s")))
