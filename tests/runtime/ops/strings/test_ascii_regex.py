"""Python's own regular expressions match and split as RE2 does, wherever `ascii_regex` has one."""

import random

import pytest

from tfport.runtime.ops.strings.kernels import regex
from tfport.runtime.ops.strings.kernels.regex import ascii_regex, compiled_regex, text_splitter

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


@pytest.mark.parametrize("pattern", [p if p[:1] == b"(" else b"(" + p + b")" for p in SAME])
def test_texts_are_split_as_by_re2(pattern):
    splitter, theirs, rng = text_splitter(pattern), compiled_regex(pattern), random.Random(45)
    characters = [*"ab ,.+\\[]'\n9_", *"éßñ日本一\u3000\u2014\u0301\u00a0٣Ж😀\ue000\ue001\U00020001\ufffe"]
    pieces = [character.encode() for character in characters]
    for at in range(400):
        text = b"".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
        if at % 10 == 0:
            text += rng.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]) + b"a b"
        assert splitter.split(text) == list(theirs.split(text)), text


def test_characters_are_forgotten_when_they_are_too_many(monkeypatch):
    monkeypatch.setattr(regex, "_MOST_KNOWN", 138)
    splitter = regex.TextSplitter(BERT)
    for start in range(0x80, 0x3100, 7):
        text = "".join(map(chr, range(start, start + 5))).encode() + b" x"
        assert splitter.split(text) == list(compiled_regex(BERT).split(text))
    assert len(splitter._kinds) < 150


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_patterns_are_left_to_re2(pattern):
    assert ascii_regex(pattern) is None
