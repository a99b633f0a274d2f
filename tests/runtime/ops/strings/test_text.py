"""Regular expressions, hashes and Unicode."""

import random

import numpy as np
import pytest
from tests.runtime.cases import boolean, case, check, checks, f32, f64, i32, i64, run, strings

import tfport
from tfport.graph.dtypes import INT32, INT64
from tfport.runtime.ops.strings.kernels.regex import plain_replacement

A = strings("abcabc", "éa€", "", b"a\xffb\x80", "aaa", "a\nb")
REWRITES = [
    ("a", "X"),
    ("", "-"),
    ("x*", "-"),
    ("(a)(b)?", r"[\2\1\0]"),
    ("a", r"\1"),
    ("a", r"\q"),
    ("a", "\\"),
    ("a", r"x\qy"),
    ("a", r"\\"),
    (".", "Z"),
    (r"\s+", ""),
    (r"\C", "x"),
    ("(?i)A", "z"),
    ("^", ">"),
    ("$", "<"),
    ("b*", "_"),
    (r"\x{e9}", "e"),
    ("a|", "_"),
    ("[^a]", ""),
    (r"\pL", "L"),
    ("(?P<n>b)", r"<\1>"),
    ("é*", "."),
]
PATTERNS = ["a*", "(abc)+", ".*", "a", "", "a|aaa", "a.*", "(?s).*", r"\pL+.?\pL*€?"]
rng = random.Random(0)
HASHED = strings(
    *(
        bytes(rng.randrange(256) for _ in range(n))
        for n in (*range(70), 95, 127, 128, 129, 192, 200, 300, 1000)
    )
)
BAD = [
    b"a\xe2\x82b\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xf0\x9f\x98",
    b"\x00\x01\x1f\x7f\x80\xc2\x85\t\n\r",
    "é€😀".encode(),
    b"",
    b"\xef\xbb\xbfa",
    "\ufffd\ufeff\ufffe".encode(),
]
GOOD = strings("é€😀", "", "abc\u0085")
UTF8 = [
    0x41,
    0x80,
    0xBF,
    0xC0,
    0xC2,
    0xDF,
    0xE0,
    0xA0,
    0xED,
    0x9F,
    0xEF,
    0xF0,
    0x90,
    0xF4,
    0x8F,
    0xF5,
    0xFF,
    0xE1,
]
WIDE = [0, 0, 0, 0x41, 0xD8, 0xDC, 0xDF, 0xFF, 0xFE, 0x10, 0x11]
PUNCTUATED = strings(
    b"He[l]l'o, \xffw^o_r-d!", b"<br /><br />a--b", b"", b"aaaa", b"\\]^-", "Stra\u00dfe \u00e9!".encode(),
    b"a\0b\n-",
)  # fmt: skip
PLAIN = [
    ("[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']", ""), ("<br />", " "), ("aa", "b"), ("[a-c]", "x"),
    ("[-a]", "-"), ("[a-]", ""), ("[a\\]b]", ""), ("[\\-a]", "+"), ("[\\\\]", "/"), ("[!-~]", "."),
    ("\\?", ""), ("\\\\", "/"), ("$", ""), ("|", ""), ("^|$", ""),
]  # fmt: skip
"""Plain texts, sets of ASCII characters, and patterns that match only empty strings."""
NOT_PLAIN = [
    ("[^a]", ""), ("[]a]", "x"), ("a", "\\0\\0"), ("[ab]", "yz"), ("[\\w]", ""), ("[[:alpha:]]", ""),
    ("\u00e9", "e"), ("[\u00e9]", "e"), ("[a][b]", ""), ("$", "x"),
    ("[^a-z\\s]", "-"), ("[\\W_]", ""), ("[^\\\\w]", "\\\\"),
]  # fmt: skip
MARKED = strings(
    b"\xff\xfea\0b\0", b"\xfe\xff\0a", b"\xff\xfe\0\0a\0\0\0", b"\0\0\xfe\xff\0\0\0a", b"\xfe\xff", b"\0a"
)
BYTES = strings(bytes(range(256)))
PAGES = ["US-ASCII", "latin1", "ISO_8859-1", "iso-8859-2", "ISO-8859-3", "ISO-8859-15", "koi8-r", "macintosh"]
PAGES += [f"windows-{n}" for n in range(1250, 1259)]
VALUES = i32(97, 0x20AC, 0x1F600, 0xD800, 0x110000, -1, 0, 0xFFFE, 0xFEFF)
ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")


def random_strings(letters, count=150):
    return strings(*(bytes(rng.choice(letters) for _ in range(rng.randint(1, 9))) for _ in range(count)))


def string_scalar(text):
    return strings(text).reshape(())


def decode(texts, encoding="UTF-8", **options):
    return case("UnicodeDecodeWithOffsets", texts, input_encoding=encoding, **options)


def transcode(texts, source="UTF-8", target="UTF-8", **options):
    return case("UnicodeTranscode", texts, input_encoding=source, output_encoding=target, **options)


def encode(values, splits, **options):
    return case("UnicodeEncode", values, splits, **{"output_encoding": "UTF-8", **options})


CASES = [
    *(
        case("RegexReplace", A, string_scalar(p), string_scalar(r), replace_global=everywhere)
        for p, r in REWRITES
        for everywhere in (True, False)
    ),
    *(case("StaticRegexReplace", A, pattern=p, rewrite=r) for p, r in REWRITES[:8]),
    case("StaticRegexReplace", A, pattern="a", rewrite="x", replace_global=False),
    *(
        case("StaticRegexReplace", texts, pattern=p, rewrite=r)
        for p, r in (*PLAIN, *NOT_PLAIN)
        for texts in (PUNCTUATED, BYTES)
    ),
    case("StaticRegexReplace", A, pattern="[", rewrite="", fails=True),
    case("RegexReplace", A, string_scalar("["), string_scalar(""), fails=True),
    case("RegexReplace", A, strings("a"), string_scalar(""), fails=True),
    *(case("RegexFullMatch", A, string_scalar(p)) for p in PATTERNS),
    *(case("StaticRegexFullMatch", A.reshape(2, 3), pattern=p) for p in PATTERNS[:3]),
    case("RegexFullMatch", A, string_scalar("("), fails=True),
    case("StringToHashBucketFast", HASHED, num_buckets=2**63 - 1),
    case("StringToHashBucketFast", HASHED.reshape(-1, 2), num_buckets=7),
    case("StringToHashBucketFast", HASHED[:0], num_buckets=7),
    case("StringToHashBucket", HASHED, num_buckets=2**63 - 1),
    case("StringToHashBucketStrong", HASHED, num_buckets=2**63 - 1, key=[1, 2]),
    case("StringToHashBucketStrong", HASHED, num_buckets=10, key=[-1, 2**63 - 1]),
    case("StringToHashBucketStrong", HASHED, num_buckets=10, key=[1], fails=True),
    case("StringToHashBucketFast", HASHED, num_buckets=0, fails=True),
    *(
        case("Fingerprint", data, string_scalar("farmhash64"))
        for data in (
            strings("abc", "d"),
            strings(["abc", "d"], ["", "x"]),
            strings([["abc"], ["d"]]),
            i32(1, 2),
            f32([1.5, 2]),
            np.zeros((0, 2)),
            np.zeros((2, 0)),
            boolean(True, False),
            f64([1], [2]),
        )
    ),
    case("Fingerprint", i32(1), string_scalar("sha"), fails=True),
    case("Fingerprint", string_scalar("a"), string_scalar("farmhash64"), fails=True),
    *(decode(strings(*BAD), errors=e) for e in ("replace", "ignore")),
    *(decode(strings(*BAD), errors=e, replace_control_characters=True) for e in ("replace", "ignore")),
    decode(strings(*BAD), replacement_char=63),
    decode(GOOD, errors="strict"),
    decode(strings("a\x01"), errors="strict", replace_control_characters=True),
    *(decode(strings(text), errors="strict", fails=True) for text in BAD[:2]),
    decode(strings(["a", "bc"], ["", "d"])),
    decode(string_scalar("abc")),
    decode(GOOD, "x", fails=True),
    decode(GOOD, replacement_char=-1, fails=True),
    case("UnicodeDecode", GOOD, input_encoding="UTF-8", Tsplits=INT32),
    case("UnicodeDecode", GOOD[:0], input_encoding="UTF-8", Tsplits=INT64),
    decode(random_strings(UTF8)),
    *(decode(random_strings(WIDE), e) for e in ("UTF-16BE", "utf-16-le", "UTF-32-BE", "UTF32LE")),
    *(decode(MARKED[i : i + 1], e) for e in ("UTF-16", "UTF-32") for i in range(len(MARKED))),
    *(decode(MARKED, "UTF-32", errors=how) for how in ("replace", "ignore")),
    decode(MARKED[::-1], "UTF-32"),
    decode(strings(b"\0a", b"", b"\0b"), "UTF-16"),
    transcode(MARKED, "UTF-32"),
    *(decode(BYTES, page) for page in PAGES),
    *(transcode(strings(*BAD), target=e, errors=how) for e in ENCODINGS for how in ("replace", "ignore")),
    *(transcode(GOOD, target=e, errors="strict") for e in ENCODINGS),
    *(transcode(strings(*BAD), target=e, replacement_char=0x1F600) for e in ENCODINGS),
    *(
        transcode(strings(*BAD), errors=how, replace_control_characters=True, replacement_char=63)
        for how in ("replace", "ignore")
    ),
    transcode(strings(BAD[0]), errors="strict", fails=True),
    transcode(strings("a\x01"), errors="strict", replace_control_characters=True, fails=True),
    transcode(strings("a"), errors="strict", replace_control_characters=True),
    transcode(BYTES, "windows-1252"),
    transcode(BYTES, "UTF-16-BE"),
    transcode(GOOD, "nope", fails=True),
    transcode(strings(["a"]), "latin1", "UTF-16-BE"),
    *(
        encode(VALUES, i64(0, 3, 3, 9), output_encoding=e, errors=how)
        for e in ENCODINGS
        for how in ("replace", "ignore")
    ),
    *(encode(VALUES[:3], i32(0, 1, 3), output_encoding=e, errors="strict") for e in ENCODINGS),
    encode(VALUES, i64(0, 9), errors="strict", fails=True),
    encode(VALUES, i64(0, 9), replacement_char=0xD800),
    encode(VALUES, i64(0, 9), replacement_char=63),
    encode(VALUES[:0], i64(0)),
    encode(VALUES[:0], i64(0, 0)),
    *(encode(VALUES, i64(*splits), fails=True) for splits in ((0, 4), (1, 9), (0, 5, 4, 9), (0, 10))),
    encode(VALUES[:0], i64(), fails=True),
    encode(VALUES, i64(0, 9), replacement_char=0x110000, fails=True),
    case("UnicodeScript", i32(-1, 0x110000, 65, 0x3B1, 0x4E00, 0x20, 0x10FFFF, 0xD800, 0x1F600)),
    case("UnicodeScript", np.arange(0, 0x3000, 7, dtype=np.int32).reshape(-1, 4)[:, :2]),
]


def test_several_strings_with_byte_order_marks_are_unsupported():
    """TensorFlow's converter keeps the byte order of one string for the next."""
    with pytest.raises(tfport.Error, match="byte order marks"):
        run(decode(MARKED, "UTF-16"), "host")


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_text(c, ways):
    check("text", c, ways)


def test_plain_texts_and_sets_of_characters_are_replaced_without_a_regular_expression():
    assert all(plain_replacement(pattern.encode(), rewrite.encode()) for pattern, rewrite in PLAIN)
    assert not any(plain_replacement(pattern.encode(), rewrite.encode()) for pattern, rewrite in NOT_PLAIN)
