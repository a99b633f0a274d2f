"""Segment reductions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i8, i32, numbers, scalar, u8

from tfport.fix.rules.math.reductions import (
    gathered_then_added,
    largest_of_opposites,
    largest_of_sorted,
    product_of_sorted,
    sum_then_divided,
    unsorted,
)


def segments(op, kind="float32"):
    return f"y = {op}(d, s, n) {{T={kind}, Tindices=int32, Tnumsegments=int32}}"


SPARSE = "y = SparseSegment%sWithNumSegments(d, i, s, n) {T=float32, Tidx=int32, Tnumsegments=int32}"
MIN, PROD = segments("UnsortedSegmentMin"), segments("UnsortedSegmentProd")
D, S, N = numbers(5, 2), i32(2, 0, 2, -1, 0), scalar(4)
CASES = [
    rule_case(largest_of_opposites, MIN, d=D, s=S, n=N),
    rule_case(largest_of_opposites, MIN, d=D, s=S, n=N, open=("d", "s")),
    rule_case(largest_of_opposites, MIN, d=f32(np.inf, -np.inf, 1), s=i32(0, 1, 2), n=N),
    rule_case(largest_of_opposites, segments("UnsortedSegmentMin", "int32"), d=i32(-(2**31), 2**31 - 1, 3),
              s=i32(0, 1, 0), n=scalar(3)),
    rule_case(largest_of_opposites, segments("UnsortedSegmentMin", "int8"), d=i8(-128, 127, 3),
              s=i32(0, 1, 0), n=N),
    rule_case(largest_of_opposites, segments("UnsortedSegmentMin", "uint8"), d=u8(255, 0, 3), s=i32(0, 1, 0),
              n=N),
    rule_case(largest_of_sorted, segments("UnsortedSegmentMax"), d=D, s=S, n=N, open=("d", "s")),
    rule_case(largest_of_sorted, segments("UnsortedSegmentMax"), d=f32(np.inf, -np.inf, 1), s=i32(0, 1, 0),
              n=N),
    rule_case(largest_of_sorted, segments("UnsortedSegmentMax", "int8"), d=i8(-128, 127, 3), s=i32(0, 1, 0),
              n=N),
    rule_case(product_of_sorted, PROD, d=D, s=S, n=N),
    rule_case(product_of_sorted, PROD, d=D, s=S, n=N, open=("d", "s")),
    rule_case(product_of_sorted, PROD, d=numbers(2, 3, 2), s=i32([1, 0, 1], [-1, 3, 3]), n=N),
    rule_case(product_of_sorted, PROD, d=f32(), s=i32(), n=N),
    rule_case(product_of_sorted, segments("UnsortedSegmentProd", "int32"), d=i32(2, 3, 5), s=i32(1, 0, 1),
              n=scalar(2)),
    *[rule_case(gathered_then_added, SPARSE % kind, d=D, i=i32(4, 0, 1, 1), s=i32(0, 0, 2, 2), n=N)
      for kind in ("Sum", "Mean", "SqrtN")],
    rule_case(gathered_then_added, SPARSE % "Mean", d=numbers(3, 2, 2), i=i32(2, 0), s=i32(1, 1), n=scalar(3),
              open=("d", "i", "s")),
    rule_case(gathered_then_added, SPARSE % "Sum", d=D, i=i32(), s=i32(), n=scalar(2)),
    *[rule_case(unsorted, segments(f"Segment{op}V2"), d=D, s=i32(0, 0, 1, 3, 3), n=N, answers="tfport")
      for op in ("Sum", "Max", "Min", "Prod")],
    *[rule_case(sum_then_divided, f"y = SparseSegment{op}(d, i, s) {{T=float32, Tidx=int32}}",
                d=D, i=i32(4, 0, 1), s=i32(0, 0, 2)) for op in ("Mean", "SqrtN")],
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


def test_refuses():
    text = segments("UnsortedSegmentMax", "bfloat16")
    assert_refuses(
        largest_of_sorted, text, because="bfloat16", d=f32(1), s=i32(0), n=N, types={"d": "bfloat16"}
    )


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(-1, 3), max_size=6), st.booleans(), st.booleans())
def test_any_segments(ids, product, known):
    rule, text = (product_of_sorted, PROD) if product else (largest_of_opposites, MIN)
    d, s = numbers(len(ids), 2), np.array(ids, np.int32)
    check(rule_case(rule, text, d=d, s=s, n=scalar(4), open=() if known else ("d", "s")))
