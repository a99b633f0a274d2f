"""Python's own regular expressions match and split as RE2 does, wherever `ascii_regex` has one."""

import random

import pytest

from tfport.runtime.ops.strings.kernels.regex import (
    TextRegex,
    ascii_regex,
    compiled_regex,
    replacement,
    split_texts,
)

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


CHARACTERS = [*"ab ,.+\\[]'\n9_", *"éßñ日本一\u3000\u2014\u0301\u00a0٣Ж😀\ue000\ue001\U00020001\ufffe\xad"]
ILL_FORMED = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]


def texts(count, rng, pieces=CHARACTERS):
    return ["".join(rng.choice(pieces) for _ in range(rng.randrange(12))).encode() for _ in range(count)]


@pytest.mark.parametrize("pattern", [p if p[:1] == b"(" else b"(" + p + b")" for p in SAME])
def test_texts_are_split_as_by_re2(pattern):
    theirs, rng = compiled_regex(pattern), random.Random(45)
    for at in range(100):
        batch = texts(rng.randrange(8), rng, CHARACTERS[: 12 if at % 3 == 0 else None])
        if batch and at % 10 == 0:
            batch[0] += rng.choice(ILL_FORMED) + b"a b"
        assert split_texts(pattern, batch) == [list(theirs.split(text)) for text in batch], batch


@pytest.mark.parametrize("rewrite", [b"", b" ", b"*", "é".encode(), b"<->", b"\xff"])
@pytest.mark.parametrize(
    "pattern", [*SAME, rb"\[a\]", rb" \#\#", b"^ +| +$", rb"^\s+|\s+$", rb"^a+|a+$", rb"^\.+|a+$"]
)
def test_matches_are_replaced_as_by_re2(pattern, rewrite):
    theirs, rng = compiled_regex(pattern), random.Random(45)
    change = replacement(pattern, rewrite, True)
    for at in range(150):
        (text,) = texts(1, rng, ["[a]", " ##", *CHARACTERS])
        if at % 10 == 0:
            text += rng.choice(ILL_FORMED) + b"a b"
        assert change(text) == theirs.sub(rewrite, text), text


def test_characters_of_each_region_are_asked_for_once():
    regex, theirs = TextRegex(BERT), compiled_regex(BERT)
    for start in range(0x80, 0x12000, 0x155):
        text = "".join(chr(p) for p in range(start, start + 9) if not 0xD800 <= p < 0xE000) + " x"
        compiled = regex.in_text(text)
        assert [part.encode() for part in compiled.split(text)] == list(theirs.split(text.encode()))
        assert regex.in_text(text) is compiled


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_patterns_are_left_to_re2(pattern):
    assert ascii_regex(pattern) is None
