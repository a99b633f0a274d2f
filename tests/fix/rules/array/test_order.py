"""Ops that reorder elements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import boolean, f32, i8, i32, i64, numbers, scalar, strings

from tfport.fix.rules.array.order import (
    as_top_k_v2,
    axes_as_flags,
    axis_first,
    axis_last,
    by_division,
    chosen_where_padded,
    exact_top_k,
    flags_as_axes,
    gathered_from_behind,
    last_of_the_top,
    of_a_vector,
    of_the_first_axis,
    one_hot_last,
    padded_with_a_value,
    padded_with_zeros,
    transposed_then_conjugated,
)

ROLL = "y = Roll(x, s, a) {T=float32, Tshift=int32, Taxis=int32}"
PAD, PAD2 = "y = Pad(x, p) {T=float32}", "y = PadV2(x, p, v) {T=float32}"
UNIQUE = "y = UniqueV2(x, a) {T=int32, Taxis=int64, out_idx=%s}"
BOTH, ALL = ["y:0", "y:1"], ["y:0", "y:1", "y:2"]
AXIS = {"constants": ("a",)}
ONE_HOT = "y = OneHot(x, d, a, b) {T=float32, TI=int32, axis=%d}"
HOT = {"d": scalar(4), "a": scalar(2, np.float32), "b": scalar(-1, np.float32)}
CASES = [
    *(rule_case(one_hot_last, ONE_HOT % axis, x=i32([0, 3], [5, 1], [2, -1]), **HOT) for axis in (0, 1, 2)),
    rule_case(
        exact_top_k, "y = ApproxTopK(x) {T=float32, k=3}", fetches=["y:0", "y:1"], x=numbers(2, 3, 9)
    ),
    *(
        rule_case(
            exact_top_k,
            f"y = ApproxTopK(x) {{T=float32, k=2, is_max_k={most}, reduction_dimension={axis}}}",
            fetches=["y:0", "y:1"],
            x=numbers(4, 3, 5),
            answers="tfport",  # TensorFlow has no CPU kernel for it
        )
        for most, axis in (("false", -1), ("true", 0), ("false", 1))
    ),
    rule_case(gathered_from_behind, ROLL, x=numbers(5), s=i32(2), a=i32(0), **AXIS),
    rule_case(gathered_from_behind, ROLL, x=numbers(3, 4), s=scalar(-9), a=scalar(-1), **AXIS),
    rule_case(gathered_from_behind, ROLL, x=numbers(3, 4), s=i32(1, -2, 5), a=i32(0, 1, 0), open=("x",),
              **AXIS),
    rule_case(gathered_from_behind, ROLL, x=numbers(0, 4), s=i32(1), a=i32(0), open=("x",), **AXIS),
    rule_case(gathered_from_behind, "y = Roll(x, s, a) {T=string, Tshift=int64, Taxis=int64}",
              x=strings("a", "b", "c"), s=i64(1), a=i64(0), **AXIS),
    rule_case(axes_as_flags, "y = ReverseV2(x, a) {T=float32}", x=numbers(2, 3), a=i32(-1), **AXIS),
    rule_case(axes_as_flags, "y = ReverseV2(x, a) {T=float32}", x=numbers(2, 3), a=i32(), open=("x",),
              **AXIS),
    rule_case(flags_as_axes, "y = Reverse(x, a) {T=float32}", x=numbers(2, 3), a=boolean(True, False),
              **AXIS),
    rule_case(transposed_then_conjugated, "y = ConjugateTranspose(x, p) {T=complex64}", p=i32(1, 0),
              x=numbers(2, 3, kind=np.complex64) * (1 + 2j), types={"x": "complex64"}),
    rule_case(transposed_then_conjugated, "y = ConjugateTranspose(x, p) {T=string, Tperm=int64}", p=i64(1, 0),
              x=strings(["a", "b"])),
    rule_case(axis_first, "y = ConcatV2(x, z, a) {T=float32, N=2}", x=numbers(2, 3), z=numbers(2, 1),
              a=scalar(-1),
              **AXIS),
    rule_case(axis_last, "y = Concat(a, x, z) {T=float32, N=2}", x=numbers(2, 3), z=numbers(1, 3),
              a=scalar(0)),
    rule_case(padded_with_zeros, PAD2, x=numbers(2, 3), p=i32([1, 0], [0, 2]), v=np.float32(0),
              constants=("v",)),
    rule_case(chosen_where_padded, PAD2, x=numbers(2, 3), p=i32([1, 0], [0, 2]), v=np.float32(-0.0)),
    rule_case(chosen_where_padded, PAD2, x=numbers(0, 3), p=i32([1, 0], [0, 2]), v=np.float32(np.nan),
              open=("x",)),
    rule_case(padded_with_a_value, PAD, x=numbers(2, 3), p=i32([1, 0], [0, 2])),
    rule_case(by_division, "y = UnravelIndex(i, d) {Tidx=int32}", i=i32(0, 7, 23), d=i32(2, 3, 4)),
    rule_case(by_division, "y = UnravelIndex(i, d) {Tidx=int64}", i=np.int64(7), d=i64(2, 3, 4)),
    rule_case(of_a_vector, UNIQUE % "int32", fetches=BOTH, x=i32(3, 1, 3, 2), a=i64(0), **AXIS),
    rule_case(of_a_vector, UNIQUE % "int64", fetches=BOTH, x=i32(3, 1, 3, 2), a=i64(), **AXIS),
    rule_case(of_a_vector, "y = UniqueWithCountsV2(x, a) {T=string, Taxis=int32, out_idx=int32}", fetches=ALL,
              x=strings("b", "a", "b"), a=i32(), open=("x",), **AXIS),
    rule_case(last_of_the_top, "y = NthElement(x, n) {T=float32}", x=numbers(2, 5), n=scalar(3)),
    rule_case(last_of_the_top, "y = NthElement(x, n) {T=float32}", x=f32(2, 1, 1, -np.inf), n=scalar(0),
              open=("x",)),
    rule_case(last_of_the_top, "y = NthElement(x, n) {T=int32, reverse=true}", x=i32(5, 9, 7), n=scalar(1)),
    # newer releases take the first TopK from old graphs only
    rule_case(as_top_k_v2, "y = TopK(x) {T=float32, k=2}", fetches=BOTH, x=f32(1, 3, 3), answers="tfport"),
    rule_case(as_top_k_v2, "y = TopK(x) {T=int8, k=3}", fetches=BOTH, x=i8(1, 3, 3), answers="tfport"),
    rule_case(of_the_first_axis, "y = Unique(x) {T=int32}", fetches=BOTH, x=i32(3, 1, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


X = numbers(2, 3)
REFUSALS = [
    (gathered_from_behind, ROLL, "axis is not constant", {"x": X, "s": i32(1), "a": i32(0)}),
    (gathered_from_behind, ROLL, "number of shifts", dict(x=X, s=i32(1), a=i32(0), open=("s",), **AXIS)),
    (axes_as_flags, "y = ReverseV2(x, a) {T=float32}", "axis is not constant", {"x": X, "a": i32(0)}),
    (axis_first, "y = ConcatV2(x, x, a) {T=float32, N=2}", "axis is not constant", {"x": X, "a": scalar(0)}),
    (padded_with_zeros, PAD2, "not known to pad with zeros",
     {"x": X, "p": i32([0, 0], [0, 0]), "v": np.float32(-0.0), "constants": ("v",)}),
    (last_of_the_top, "y = NthElement(x, n) {T=int32}", "cannot be negated", {"x": i32(5), "n": scalar(0)}),
    (of_a_vector, UNIQUE % "int32", "not a vector", dict(x=i32([1]), a=i64(0), **AXIS)),
    (of_a_vector, UNIQUE % "int32", "shape of its axis", {"x": i32(1), "a": i64(0), "open": ("a",)}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSALS)
def test_refuses(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **inputs)


NEW = ("Roll", "ConjugateTranspose", "UnravelIndex", "UniqueV2", "UniqueWithCountsV2", "NthElement")


@pytest.mark.parametrize("c", [c for c in CASES if any(f"= {op}(" in c.text for op in NEW)], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(
        chain_case(c.text, fetches=c.fetches, open=c.open, constants=c.constants, types=c.types, **c.feeds)
    )


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.integers(-7, 7), st.integers(-2, 1)), max_size=3), st.booleans())
def test_any_roll(turns, known):
    shifts, axes = np.array([t[0] for t in turns], np.int32), np.array([t[1] for t in turns], np.int32)
    check(
        rule_case(
            gathered_from_behind,
            ROLL,
            x=numbers(3, 4),
            s=shifts,
            a=axes,
            open=() if known else ("x",),
            **AXIS,
        )
    )


def test_one_hot_along_the_last_axis_stays():
    assert_refuses(one_hot_last, ONE_HOT % -1, because="its axis is the last one", x=i32(0, 3), **HOT)
