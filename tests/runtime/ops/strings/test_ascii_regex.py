"""Python's own regular expressions match ASCII texts as RE2 does, wherever `ascii_regex` has one."""

import random

import pytest

from tfport.runtime.ops.strings.kernels.regex import ascii_regex, compiled_regex

BERT = rb"(\s+|[!-/]|[:-@]|[\[-`]|[{-~]|[\p{P}]|[\x{4E00}-\x{9FFF}]|[\x{20000}-\x{2A6DF}])"
SAME = [
    BERT, rb"\p{Mn}", rb"\p{Cc}|\p{Cf}", rb"(\s)", rb"[^ a-z.?!,]", rb"ab|a+|[bc]d", rb"([[:punct:]])",
    rb"\++", rb"a\+", rb"\\+|\[", rb"[]a]+", rb"[^]a]", rb".", rb"\w+|\d", rb"[\w']+", rb"\S|\D+", rb"\pL+",
    rb"\x{61}|b",
]  # fmt: skip
OTHERS = [
    rb"(a)(b)",
    rb"(a+)+",
    rb"a*",
    rb"ab+",
    rb"a+?",
    rb"a{2}",
    rb"a|",
    rb"",
    rb"()",
    rb"^a",
    rb"\ba",
    rb"(?i)a",
]
"""Not one character after the other, or not in linear time."""


@pytest.mark.parametrize("pattern", SAME)
def test_matches_are_those_of_re2(pattern):
    ours, theirs, rng = ascii_regex(pattern), compiled_regex(pattern), random.Random(45)
    assert ours is not None
    assert ours.groups == theirs.groups
    for _ in range(300):
        text = bytes(rng.choice(b"ab cd.,+\\[]'\n\t\0\x0b\x7f09_AZ") for _ in range(rng.randrange(12)))
        found = [(match.span(), match.groups()) for match in ours.finditer(text)]
        assert found == [(match.span(), match.groups()) for match in theirs.finditer(text)]


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_patterns_are_left_to_re2(pattern):
    assert ascii_regex(pattern) is None
