"""Strings joined by segment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import i32, i64, scalar, strings

from tfport.fix.rules.strings.basic import joined_in_rows


def join(separator=", ", ids="int32", count="int32"):
    return (
        f'y = UnsortedSegmentJoin(x, i, n) {{separator="{separator}", Tindices={ids}, Tnumsegments={count}}}'
    )


WORDS, MATRIX = strings("a", "", "c", "dd", "e"), strings(["a", "b"], ["c", ""], ["e", "f"])
CASES = [
    rule_case(joined_in_rows, join(), x=WORDS, i=i32(2, 0, 2, 0, 0), n=scalar(4)),
    rule_case(joined_in_rows, join(""), x=WORDS, i=i32(2, 0, 2, 0, 0), n=scalar(3), open=("x", "i")),
    rule_case(joined_in_rows, join(ids="int64", count="int64"), x=WORDS, i=i64(1, 1, 1, 1, 1), n=np.int64(2)),
    rule_case(joined_in_rows, join(), x=strings(), i=i32(), n=scalar(2), open=("x", "i")),
    rule_case(joined_in_rows, join(), x=strings(), i=i32(), n=scalar(0)),
    rule_case(
        joined_in_rows, join("+"), x=strings("", "a", "", "b", "", ""), i=i32(1, 1, 1, 1, 0, 0), n=scalar(2)
    ),
    rule_case(joined_in_rows, join(), x=MATRIX, i=i32(1, 0, 1), n=scalar(3), open=("x", "i")),
    rule_case(joined_in_rows, join(), x=MATRIX, i=i32([1, 0], [1, 1], [0, 0]), n=scalar(2)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


def test_refuses():
    assert_refuses(
        joined_in_rows, join(), because="rank of its segment_ids", x=WORDS, i=scalar(0), n=scalar(2)
    )


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["", "a", "bc"]), st.integers(0, 3)), max_size=6))
def test_any_segments(pairs):
    words, ids = strings(*(word for word, _ in pairs)), np.array([i for _, i in pairs], np.int32)
    check(rule_case(joined_in_rows, join("-"), x=words, i=ids, n=scalar(4), open=("x", "i")))
