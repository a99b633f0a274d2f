"""Code points of UTF-8, decoded from bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.fix.rules.strings.test_basic import words
from tests.runtime.cases import i32, i64

from tfport.fix.rules.strings.unicode import decoded_and_encoded, decoded_by_bytes, encoded_by_bytes

TEXTS = words("aé", "", "日本語", "\U0001f600!\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff", shape=(2, 2))
BROKEN = words(
    *(b"a\xffb", b"\xc3", b"\xc3(", b"\xe6\x97", b"\xe6\x97(\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\x80\x80"),
    *(b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf0\x80\x80\x80", b"\xe0\x80\xaf"),
    *(b"\0\x01\t", b"\xf0\x9f\xe6\x97\xa5\xe6"),
)
QUESTION_MARK = ", replacement_char=63}"
TWO, THREE = ["y:0", "y:1"], ["y:0", "y:1", "y:2"]
CONTROLS = ", replace_control_characters=true}"
DECODE = 'y = UnicodeDecode(x) {{input_encoding="{}", errors="{}", Tsplits={}}}'
TRANSCODE = 'y = UnicodeTranscode(x) {{input_encoding="UTF-8", output_encoding="UTF-8", errors="{}"}}'
OFFSETS = 'y = UnicodeDecodeWithOffsets(x) {input_encoding="UTF-8"}'
ENCODE = 'y = UnicodeEncode(x, s) {{output_encoding="{}", errors="{}", Tsplits={}}}'
PIECES = b"a\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xff"
POINTS = i32(97, 233, 0x65E5, 0x1F600, 0xD800, -1, 0x110000, 0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10FFFF)
CUTS = i64(0, 2, 2, 14)
CASES = [
    rule_case(decoded_by_bytes, DECODE.format("UTF-8", "replace", "int64"), x=TEXTS, fetches=TWO),
    rule_case(decoded_by_bytes, DECODE.format("utf8", "ignore", "int32"), x=words(shape=(0,)), open=("x",),
              fetches=TWO),
    rule_case(decoded_by_bytes, OFFSETS, x=TEXTS, fetches=THREE, open=("x",)),
    rule_case(decoded_by_bytes, OFFSETS, x=BROKEN, fetches=THREE),
    rule_case(decoded_by_bytes, OFFSETS.replace("}", CONTROLS), x=BROKEN, fetches=THREE),
    rule_case(decoded_by_bytes, DECODE.format("UTF-8", "ignore", "int64").replace("}", CONTROLS), x=BROKEN,
              fetches=TWO),
    rule_case(decoded_by_bytes, DECODE.format("UTF-8", "replace", "int64").replace("}", QUESTION_MARK),
              x=BROKEN, fetches=TWO),
    rule_case(encoded_by_bytes, ENCODE.format("UTF-8", "replace", "int64"), x=POINTS, s=CUTS),
    rule_case(encoded_by_bytes, ENCODE.format("UTF-8", "ignore", "int64"), x=POINTS, s=CUTS, open=("x", "s")),
    rule_case(encoded_by_bytes, ENCODE.format("UTF-8", "replace", "int32"), x=i32(), s=i32(0, 0)),
    rule_case(decoded_and_encoded, TRANSCODE.format("replace"), x=TEXTS),
    *[rule_case(decoded_and_encoded, text, x=BROKEN) for errors in ("replace", "ignore")
      for text in (TRANSCODE.format(errors), TRANSCODE.format(errors).replace("}", CONTROLS))],
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", [chain_case(c.text, fetches=c.fetches, **c.feeds) for c in CASES], ids=str)
def test_the_oldest_target_takes_it(c):
    check_chain(c)


REFUSED = [
    (decoded_by_bytes, DECODE.format("UTF-16-BE", "replace", "int64"),
         "its input_encoding is UTF-16-BE; expected UTF-8"),
    (decoded_by_bytes, DECODE.format("UTF-8", "strict", "int64"), "errors=strict"),
    (decoded_and_encoded, TRANSCODE.format("strict"), "errors=strict"),
    (decoded_and_encoded, 'y = UnicodeTranscode(x) {input_encoding="UTF-8", output_encoding="UTF-16-BE"}',
     "it converts UTF-8 to UTF-16-BE"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "because"), REFUSED)
def test_others_stay(rule, text, because):
    assert_refuses(rule, text, because=because, x=words("a"))


@pytest.mark.parametrize(
    ("encoding", "errors", "because"),
    [("UTF-16-BE", "replace", "output_encoding is UTF-16-BE"), ("UTF-8", "strict", "errors=strict")],
)
def test_other_encodings_stay(encoding, errors, because):
    text = ENCODE.format(encoding, errors, "int64")
    assert_refuses(encoded_by_bytes, text, because=because, x=i32(97), s=i64(0, 1))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=5), max_size=4))
def test_any_text_is_decoded(values):
    check(rule_case(decoded_by_bytes, OFFSETS, x=words(*values), fetches=THREE, open=("x",)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(list(PIECES)), max_size=6).map(bytes), max_size=4))
def test_any_bytes_are_decoded(values):
    check(rule_case(decoded_by_bytes, OFFSETS, x=words(*values), fetches=THREE, open=("x",)))
