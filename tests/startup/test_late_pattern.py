"""A late pattern answers as `re.compile` does, and is compiled at its first use only."""

import re

import pytest

from tfport.startup.late_pattern import late_pattern


def test_it_answers_as_a_compiled_pattern() -> None:
    pattern = late_pattern(r"(\w+)-(\d+)", re.IGNORECASE)
    match = pattern.fullmatch("Shard-12")
    assert match is not None
    assert match.groups() == ("Shard", "12")
    assert pattern.sub("x", "a-1 b-2") == "x x"
    assert (pattern.pattern, pattern.flags) == (r"(\w+)-(\d+)", re.IGNORECASE | re.UNICODE)


def test_bytes_are_searched_with_a_pattern_of_bytes() -> None:
    assert late_pattern(rb"\x00+").search(b"a\x00\x00") is not None


def test_it_is_compiled_once_and_not_before_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_now = re.compile
    monkeypatch.setattr(re, "compile", lambda *args: compiled.append(args) or compile_now(*args))
    pattern = late_pattern("a+")
    assert compiled == []
    assert [bool(pattern.fullmatch(text)) for text in ("a", "aa", "b")] == [True, True, False]
    assert compiled == [("a+", 0)]


def test_a_wrong_pattern_is_an_error_at_its_first_use() -> None:
    pattern = late_pattern("(")
    with pytest.raises(re.error):
        pattern.fullmatch("")


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError):
        _ = late_pattern("a").absent  # type: ignore[attr-defined]
