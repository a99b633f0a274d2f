"""Slices of a tensor replaced, added to, or compared with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import boolean, f32, i32, i64, numbers, strings

from tfport.fix.rules.array.gather import (
    assigned_with_updates,
    largest_of_a_segment,
    stitched,
    with_all_updates,
    with_all_updates_of_integers,
)


def scatter(rule, op, t, i, u, kind="float32", index="int32", **options):
    return rule_case(rule, f"y = {op}(t, i, u) {{T={kind}, Tindices={index}}}", t=t, i=i, u=u, **options)


UPDATE, ADD, SUB, MAX, MIN = (f"TensorScatter{name}" for name in ("Update", "Add", "Sub", "Max", "Min"))
T, PLACES, U = numbers(4, 3), i32([2], [0], [2]), numbers(3, 3, seed=1)
INFINITE = f32(-np.inf, np.inf, 1, -3.4028235e38, -0.0)
VARIABLE = """
    v = VarHandleOp() {dtype=float32, shape=(4, 3), shared_name="v"}
    s = AssignVariableOp(v, t) {dtype=float32}
    w = ResourceScatterNdUpdate(v, i, u, ^s) {T=float32, Tindices=int32}
    y = ReadVariableOp(v, ^w) {dtype=float32}
"""
CASES = [
    rule_case(assigned_with_updates, VARIABLE, t=T, i=i32([2], [0]), u=numbers(2, 3, seed=1)),
    rule_case(assigned_with_updates, VARIABLE, t=T, i=i32([2, 1]), u=f32(7), open=("i", "u")),
    scatter(stitched, UPDATE, T, PLACES, U),
    scatter(stitched, UPDATE, T, PLACES, U, open=("t", "i", "u")),
    scatter(stitched, UPDATE, T, i64([2, 1], [0, 0]), f32(-0.0, np.nan), index="int64"),
    scatter(stitched, UPDATE, T, np.zeros((0, 1), np.int32), np.zeros((0, 3), np.float32)),
    scatter(stitched, UPDATE, numbers(2, 2, 3), i32([[1, 0]], [[0, 1]]), numbers(2, 1, 3), open=("t",)),
    scatter(stitched, UPDATE, strings("a", "b"), i32([1]), strings("c"), kind="string"),
    scatter(stitched, UPDATE, boolean(True, False), i32([1], [0]), boolean(True, False), kind="bool"),
    scatter(with_all_updates, ADD, T, PLACES, U),
    scatter(with_all_updates, SUB, T, PLACES, U, open=("t", "i", "u")),
    scatter(with_all_updates_of_integers, ADD, i32(1, 2), i32([1], [1]), i32(2**31 - 1, 5), kind="int32"),
    scatter(
        with_all_updates_of_integers,
        SUB,
        i64(1, 2),
        i64([1], [1]),
        i64(2**40, 5),
        kind="int64",
        index="int64",
    ),
    scatter(largest_of_a_segment, MAX, T, PLACES, U),
    scatter(largest_of_a_segment, MIN, T, PLACES, U, open=("t", "i", "u")),
    scatter(
        largest_of_a_segment, MAX, INFINITE, i32([0], [1], [2], [3]), f32(-np.inf, -np.inf, np.inf, -np.inf)
    ),
    scatter(
        largest_of_a_segment, MIN, INFINITE, i32([0], [1], [2], [3]), f32(np.inf, np.inf, np.inf, np.inf)
    ),
    scatter(largest_of_a_segment, MAX, i32(1, -(2**31)), i32([1], [0]), i32(-5, 7), kind="int32"),
    scatter(largest_of_a_segment, MIN, i32(1, 2**31 - 1), i32([1], [0]), i32(2**31 - 1, 7), kind="int32"),
    scatter(largest_of_a_segment, MAX, f32(1, 2), np.zeros((0, 1), np.int32), f32()),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses():
    text = 'y = TensorScatterUpdate(t, i, u) {T=float32, Tindices=int32, bad_indices_policy="IGNORE"}'
    assert_refuses(stitched, text, because="IGNORE", t=T, i=PLACES, u=U)
    add = "y = TensorScatterAdd(t, i, u) {T=float32, Tindices=int32}"
    assert_refuses(with_all_updates_of_integers, add, because="float32 updates", t=T, i=PLACES, u=U)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(0, 5), st.sampled_from((UPDATE, ADD, MAX, MIN)), st.booleans())
def test_any_slices(depth, count, op, known):
    rule = {UPDATE: stitched, ADD: with_all_updates}.get(op, largest_of_a_segment)
    tensor = numbers(2, 3, 2)
    indices = (numbers(count, depth, low=0, high=6).astype(np.int32) % np.array([2, 3, 2][:depth])).astype(
        np.int32
    )
    updates = numbers(count, *[2, 3, 2][depth:], seed=2)
    check(scatter(rule, op, tensor, indices, updates, open=() if known else ("t", "i", "u")))
