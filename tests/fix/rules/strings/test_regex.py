"""Regular expressions as inputs, as attributes, and simple ones as loops over bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.fix.rules.strings.test_basic import EMPTY, ODD, words

from tfport.fix.rules.strings.regex import (
    begins_with_a_literal,
    equal_to_a_literal,
    literal_replaced_by_bytes,
    match_a_constant_pattern,
    others_replaced_by_bytes,
    pattern_and_rewrite_as_attributes,
    pattern_as_attribute,
    replace_a_constant_pattern,
    replaced_by_bytes,
)

MATCH = "y = RegexFullMatch(x, p)"
REPLACE = "y = RegexReplace(x, p, r)"
PUNCTUATION = r"""[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']"""
HTML = words("<b>a<br />b</b>", "<br /><br />", "", "a, b! (c)", "<br /", "é<br />日", shape=(2, 3))


def word(text):
    return words(text, shape=())


def match(rule, pattern, x, **options):
    return rule_case(rule, MATCH, x=x, p=word(pattern), constants=("p",), **options)


def replace(rule, pattern, rewrite, x, **options):
    return rule_case(rule, REPLACE, x=x, p=word(pattern), r=word(rewrite), constants=("p", "r"), **options)


CASES = [
    rule_case(match_a_constant_pattern, 'y = StaticRegexFullMatch(x) {pattern="^s3://.*"}',
              x=words("s3://a", "s3:/", "")),
    rule_case(replace_a_constant_pattern, 'y = StaticRegexReplace(x) {pattern="a+", rewrite="b"}', x=ODD),
    rule_case(replace_a_constant_pattern,
              'y = StaticRegexReplace(x) {pattern="a", rewrite="b", replace_global=false}', x=words("aaa")),
    match(pattern_as_attribute, "a.*", words("abc", "ba")),
    replace(pattern_and_rewrite_as_attributes, "([ab])c", r"<\1>", words("abcac")),
    match(equal_to_a_literal, "^a\\.b$", words("a.b", "axb", "a.b\n", "")),
    match(equal_to_a_literal, "", words("a", "")),
    match(equal_to_a_literal, "日", words("日", "日本")),
    match(begins_with_a_literal, "^s3://.*", words("s3://a", "s3:/", "", "as3://b", "s3://")),
    *(replace(replaced_by_bytes, p, r, x, open=("x",))
      for p, r in ((PUNCTUATION, ""), ("[[:punct:]]+", ""), (r"\s", "_"), (r"\s+", " "), ("[a-c<]+", "-!"),
           ("[a-c0]", "<>"), ("x", ""), (r"\.", ","))
      for x in (ODD, HTML, EMPTY)),
    *(replace(others_replaced_by_bytes, p, r, x, open=("x",))
      for p, r in (("[^a-z]", "_"), ("[^a-z ]+", ""), (r"\W+", " "), (r"[^[:alpha:]]+", "--"), (r"\S", "."))
      for x in (HTML, words("日本 go! Ü", "", " a  b "), EMPTY)),
    *(replace(literal_replaced_by_bytes, p, r, x, open=("x",))
      for p, r in (("<br />", " "), ("<br />", ""), ("a", "bb"), ("日", "nichi")) for x in (HTML, ODD,
           EMPTY)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


REFUSED = [
    (equal_to_a_literal, MATCH, "a|b", "is not literal"),
    (begins_with_a_literal, MATCH, "a.*b", "is not literal characters followed by .*"),
    (replaced_by_bytes, REPLACE, "[^a]", "is not a class of ASCII characters"),
    (replaced_by_bytes, REPLACE, "[é]", "is not a class of ASCII characters"),
    (replaced_by_bytes, REPLACE, r"[\W]", "is not a class of ASCII characters"),
    (replaced_by_bytes, REPLACE, "a*", "is not a class of ASCII characters"),
    (others_replaced_by_bytes, REPLACE, "[a]", "is not a negated class of ASCII characters"),
    (literal_replaced_by_bytes, REPLACE, "a.c", "is not 1 to 32 literal characters"),
    (literal_replaced_by_bytes, REPLACE, "abab", "may overlap with itself"),
]


@pytest.mark.parametrize(("rule", "text", "pattern", "because"), REFUSED)
def test_other_patterns_stay(rule, text, pattern, because):
    assert_refuses(
        rule, text, because=because, x=words("a"), p=word(pattern), r=word("-"), constants=("p", "r")
    )


def test_what_is_not_known_stays():
    inputs = {"x": words("a"), "p": word("a"), "r": word("b")}
    assert_refuses(pattern_as_attribute, MATCH, because="`p` is not constant", **inputs)
    assert_refuses(replaced_by_bytes, REPLACE, because="is not constant", **inputs)


@pytest.mark.parametrize(("rewrite", "attrs", "because"), [
    (r"\0", "", "has a backslash"), ("b", " {replace_global=false}", "only the first match"),
])  # fmt: skip
def test_other_rewrites_stay(rewrite, attrs, because):
    for rule in (replaced_by_bytes, literal_replaced_by_bytes):
        assert_refuses(rule, REPLACE + attrs, because=because, x=words("a"), p=word("a"), r=word(rewrite),
                       constants=("p", "r"))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab<c", max_size=9), max_size=4), st.sampled_from(["ab", "a<c", "b", "<<a"]))
def test_words_are_replaced_wherever_they_stand(values, word):
    check(replace(literal_replaced_by_bytes, word, "-!", words(*values), open=("x",)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab<é 日", max_size=9), max_size=4), st.sampled_from(["[^a<]+", r"\S+", "[^b ]"]))
def test_other_characters_are_replaced_wherever_they_stand(values, pattern):
    check(replace(others_replaced_by_bytes, pattern, "-!", words(*values), open=("x",)))


CHAINS = [
    chain_case('y = StaticRegexReplace(x) {pattern="<br />", rewrite=" "}', x=HTML),
    chain_case('y = StaticRegexReplace(x) {pattern="[[:punct:]]", rewrite=""}', x=HTML, open=("x",)),
    chain_case('y = StaticRegexFullMatch(x) {pattern="abc"}', x=words("abc", "b")),
]


@pytest.mark.parametrize("c", CHAINS, ids=str)
def test_the_oldest_target_takes_it(c):
    check_chain(c)


def test_a_prefix_is_matched_where_loss_is_allowed():
    c = chain_case('y = StaticRegexFullMatch(x) {pattern="^s3://.*"}', x=words("s3://a", "b"))
    assert "begins_with_a_literal" in check_chain(c, allow_lossy=True)
