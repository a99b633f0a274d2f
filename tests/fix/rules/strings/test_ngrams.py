"""N-grams of ragged rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.fix.rules.strings.test_basic import words
from tests.runtime.cases import i32, i64

from tfport.fix.rules.strings.ngrams import with_splits_of_no_words, words_side_by_side

BOTH = ["y:0", "y:1"]


def grams(widths, pad=0, left="<", right=">", separator=" ", short="false", kind="int64"):
    return (f'y = StringNGrams(x, s) {{separator="{separator}", ngram_widths={widths}, left_pad="{left}", '
            f'right_pad="{right}", pad_width={pad}, preserve_short_sequences={short}, '
            f"Tsplits={kind}}}")  # fmt: skip


TEXT = words("a", "b", "c", "", "d")
CASES = [
    *(rule_case(words_side_by_side, grams(widths, pad), x=TEXT, s=i64(0, 3, 3, 5), fetches=BOTH, open=("x",
              "s"))
      for widths, pad in (([1], 0), ([2], 0), ([3], -1), ([2], 1), ([1, 2], 0), ([3, 1, 2], -1), ([4], 2))),
    rule_case(words_side_by_side, grams([2], kind="int32", separator=""), x=TEXT, s=i32(0, 5), fetches=BOTH),
    rule_case(words_side_by_side, grams([2]), x=words(), s=i64(0, 0), fetches=BOTH),
    rule_case(words_side_by_side, grams([2, 3]), x=words(), s=i64(0), fetches=BOTH),
]  # fmt: skip


OLDEST = [chain_case(c.text, fetches=BOTH, **c.feeds) for c in CASES]
CASES += [
    rule_case(with_splits_of_no_words, grams(widths, short=short), x=text, s=i64(*splits), fetches=BOTH)
    for text, splits in ((TEXT, (0, 3, 3, 5)), (words(), (0, 0, 0)))
    for widths, short in (([2], "false"), ([1, 3], "true"))
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", OLDEST, ids=str)
def test_the_oldest_target_takes_it(c):
    check_chain(c)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (grams([2], short="true"), "preserve_short_sequences"),
        (grams([60, 5]), "ngram_widths is 65; expected 1 to 64"),
        (grams([]), "ngram_widths is 0"),
    ],
)
def test_others_stay(text, because):
    assert_refuses(words_side_by_side, text, because=because, x=TEXT, s=i64(0, 5))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(-1, 3),
)
def test_rows_of_any_lengths(lengths, widths, pad):
    splits = np.cumsum([0, *lengths])
    text = words(*(str(i) for i in range(splits[-1])))
    check(rule_case(words_side_by_side, grams(widths, pad), x=text, s=splits, fetches=BOTH, open=("x", "s")))
