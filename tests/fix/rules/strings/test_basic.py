"""String ops, as loops over bytes where the target lacks an op."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, scalar

from tfport.fix.rules.strings.basic import (
    counted_by_bytes,
    lower_by_bytes,
    nothing_joined,
    only_ascii_letters,
    parts_by_bytes,
    split_at_each_byte,
    stripped_by_bytes,
    upper_by_bytes,
    wider_number_as_string,
)


def words(*values, shape=None):
    array = np.array([v.encode() if isinstance(v, str) else v for v in values] + [None], object)[:-1]
    return array if shape is None else array.reshape(shape)


ODD = words("", "aBc", "  x y\t", "Żółw", "\n\v ", b"\xff\x80A", b"a\0B", "日本語", shape=(2, 4))
NONE = words("", "", shape=(2, 1))
EMPTY = words(shape=(0, 3))
LOWER, UPPER = "y = StringLower(x)", "y = StringUpper(x)"
LENGTH, CHARACTERS = "y = StringLength(x)", 'y = StringLength(x) {unit="UTF8_CHAR"}'
SUBSTR = 'y = Substr(x, pos, len) {T=int32, unit="UTF8_CHAR"}'
SPLIT = "y = StringSplitV2(x, sep)"
PARTS = ["y:0", "y:1", "y:2"]
TEXTS = words("a,b,,c", "", ",", "one", "a b\tc\n ", "é,日")
TINY = np.array([0, 1, -1.5, 65504, np.nan], np.float16)
CASES = [
    *(rule_case(r, text, x=x, open=("x",))
      for r, text in ((lower_by_bytes, LOWER), (upper_by_bytes, UPPER), (stripped_by_bytes,
           "y = StringStrip(x)"),
                      (counted_by_bytes, LENGTH), (counted_by_bytes, CHARACTERS))
      for x in (ODD, NONE, EMPTY, words("Word", shape=()))),
    rule_case(only_ascii_letters, 'y = StringLower(x) {encoding="utf-8"}', x=words("Abc", "x")),
    rule_case(only_ascii_letters, 'y = StringUpper(x) {encoding="utf-8"}', x=words("Abc", "x")),
    rule_case(parts_by_bytes, SUBSTR, x=words("Żółw", "日本語!", "abcd"), pos=scalar(1, np.int32),
              len=scalar(2, np.int32)),
    rule_case(parts_by_bytes, SUBSTR, x=words("Żółw", "日本語!", "abcd"), pos=scalar(-3, np.int32),
              len=scalar(2, np.int32), open=("x",)),
    rule_case(parts_by_bytes, SUBSTR, x=words("Żółw", "日本語!", b"\x80ab"), pos=i32(0, -1, 1), len=i32(2, 5,
              1)),
    *(rule_case(wider_number_as_string, f"y = AsString(x) {{T={kind}}}", x=np.array([0, 7, 200], kind))
      for kind in ("uint8", "int16", "uint16", "uint32")),
    rule_case(wider_number_as_string, "y = AsString(x) {T=float16}", x=TINY),
    rule_case(wider_number_as_string, 'y = AsString(x) {T=float16, precision=2, width=8, fill="0"}', x=TINY),
    rule_case(wider_number_as_string, 'y = AsString(x) {T=int16, width=5, fill="0"}', x=np.array([-3],
              np.int16)),
    rule_case(wider_number_as_string, "y = AsString(x) {T=string}", x=words("a", "")),
    rule_case(nothing_joined, "y = StringJoin() {N=0}"),
    *(rule_case(split_at_each_byte, SPLIT, x=x, sep=words(sep, shape=()), constants=("sep",), fetches=PARTS)
      for sep in ("", ",", "a") for x in (TEXTS, words("", ""), words(shape=(0,)), words("  ", ","))),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


REFUSED = [
    (lower_by_bytes, 'y = StringLower(x) {encoding="utf-8"}', "encoding=utf-8"),
    (upper_by_bytes, 'y = StringUpper(x) {encoding="utf-8"}', "encoding=utf-8"),
    (only_ascii_letters, LOWER, "it has no encoding"),
    (nothing_joined, "y = StringJoin(x, x) {N=2}", "it has inputs"),
    (
        wider_number_as_string,
        "y = AsString(x) {T=string, width=4}",
        "no other dtype represents all values of string",
    ),
]


@pytest.mark.parametrize(("rule", "text", "because"), REFUSED)
def test_what_means_more_stays(rule, text, because):
    assert_refuses(rule, text, because=because, x=words("a"))


def test_numbers_without_a_wider_type_stay():
    assert_refuses(wider_number_as_string, "y = AsString(x) {T=float32}", because="no other dtype", x=f32(1))


@pytest.mark.parametrize(
    ("options", "because"),
    [
        ({"sep": words(",", shape=())}, "its separator is not constant"),
        ({"sep": words("ab", shape=()), "constants": ("sep",)}, "its separator has 2 bytes"),
    ],
)
def test_separators_that_stringsplit_has_not_stay(options, because):
    assert_refuses(split_at_each_byte, SPLIT, because=because, x=words("a"), **options)


def test_a_limited_number_of_words_stays():
    assert_refuses(split_at_each_byte, "y = StringSplitV2(x, sep) {maxsplit=2}", because="maxsplit=2",
                   x=words("a"), sep=words(",", shape=()), constants=("sep",))  # fmt: skip


def test_parts_in_bytes_and_of_unknown_shape_stay():
    inputs = {"x": words("ab"), "pos": i32(0), "len": i32(1)}
    assert_refuses(parts_by_bytes, "y = Substr(x, pos, len) {T=int32}", because="BYTE already", **inputs)
    assert_refuses(parts_by_bytes, SUBSTR, because="neither () nor known", **inputs, open=("x", "pos"))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=6), max_size=4), st.sampled_from(range(len(CASES))))
def test_any_bytes_give_the_same_answers(values, place):
    c = CASES[place]
    if c.rule in (lower_by_bytes, upper_by_bytes, stripped_by_bytes, counted_by_bytes):
        check(rule_case(c.rule, c.text, x=words(*values), open=("x",)))


CHAINS = [
    chain_case(LOWER, x=ODD, open=("x",)),
    chain_case(UPPER, x=EMPTY, open=("x",)),
    chain_case("y = StringStrip(x)", x=ODD),
    chain_case(CHARACTERS, x=ODD),
    chain_case(SPLIT, x=TEXTS, sep=words(",", shape=()), constants=("sep",), fetches=PARTS),
    chain_case(SPLIT, x=TEXTS, sep=words("", shape=()), constants=("sep",), fetches=PARTS),
    chain_case(SUBSTR, x=words("Żółw", "日本語!"), pos=scalar(1, np.int32), len=scalar(2, np.int32)),
    chain_case("y = Substr(x, pos, len) {T=int32}", x=words("word"), pos=i32(1), len=i32(2)),
    chain_case("y = AsString(x) {T=uint16}", x=np.array([3], np.uint16)),
]


@pytest.mark.parametrize("c", CHAINS, ids=str)
def test_the_oldest_target_takes_it(c):
    check_chain(c)
