"""String ops: case, length, substrings, joins, splits, n-grams, formatting and parsing."""

import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    c64,
    c128,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    scalar,
    strings,
    u8,
    u16,
    u32,
    u64,
)

from tfport.graph.dtypes import DType

T = DType.parse
WORDS = strings("ÀΣΑΣ İI ẞ ﬃÿ", b"a\xe2\x82B\xff\xc0\x80C\xed\xa0\x80", "", "àßﬃ ŉ ǰ ΐ \u0131i Ⱟ Ꟁ", "ΣaΣ Σ")
SPACES = strings(b" \t\n\v\f\r a b\x00 ", b"\x1c\x85a\xa0", b"")
NONE = np.zeros((0,), object)
TEXT = strings("aé€😀")[0:1].reshape(())
ABC = strings(["a", "b"], ["c", "d"], ["e", "f"])
SENTENCES = strings(" a, b,,c  ", "", ",", "aaa", "  ", b"a \x0b\xa0b\x85c\x1cd")
FLOATS = (0.1, 1 / 3, 1e10, -1e-10, 123456.789, np.nan, np.inf, -np.inf, -0.0, 3.0, 2.5, 1e-3)
PRINTED = (
    0.1,
    1 / 3,
    1e10,
    1e-10,
    123456789.0,
    np.nan,
    np.inf,
    -np.inf,
    -0.0,
    1e5,
    1e6,
    1e15,
    1e17,
    16777216.0,
    1e-45,
)
FORMATS = (
    {},
    {"precision": 2},
    {"precision": 0},
    {"scientific": True},
    {"scientific": True, "precision": 3},
    {"shortest": True},
    {"shortest": True, "precision": 3},
    {"width": 10},
    {"width": 10, "fill": "0"},
    {"width": 10, "fill": "-"},
    {"width": 8, "fill": " ", "precision": 1},
    {"width": 10, "fill": "+"},
    {"width": 12, "fill": "#"},
    {"shortest": True, "fill": "#"},
    {"fill": "+"},
    {"width": 0},
)
WIDTHS = ({}, {"width": 5}, *({"width": 5, "fill": f} for f in "0-+ #"), {"fill": "+"}, {"fill": " "})
NUMBERS = [
    b"1",
    b" 1 ",
    b"+1",
    b"-1",
    b"-0",
    b"007",
    b"\t\n\v\f\r1\t\n\v\f\r",
    b"2147483647",
    b"16777217",
]
REALS = [
    b"1.5",
    b"1e3",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"0x10",
    b"0x1p3",
    b"-0X1.8p1",
    b"0x.8",
    b"inf",
    b"INF",
    b"+inf",
    b"-Infinity",
    b"nan",
    b"NaN",
    b"-nan",
    b"nan(1)",
    b".5",
    b"5.",
    b"3.4028236e38",
    b"3.4028235677973366e38",
    b"1e-46",
    b"0.1",
    b"1e+5",
    b"1E5",
    b"16777217.000000001",
    b"16777216.999999999",
    b"16777217",
    b"16777219",
    b"1e-45",
]
NO_NUMBERS = [b"", b" ", b"abc", b"1 2", b"1_0", b"1\x00", b"\xc2\xa01", b"- 1", b"--1", b"+-1", b"+", b"1,2"]
NO_REALS = [b".", b"1e", b"e5", b"1f", b"0x", b"0x1p", b"infinit", b"nan(", b"0x1.8p"]
NO_INTEGERS = [b"1.5", b"1e3", b"0x10", b"inf", b"1.0", b"99999999999999999999"]
LIMITS = {
    "int32": [b"-2147483648"],
    "int64": [b"9223372036854775807", b"-9223372036854775808"],
    "uint32": [b"4294967295"],
    "uint64": [b"18446744073709551615"],
}
BEYOND = {
    "int32": [b"2147483648", b"-2147483649"],
    "int64": [b"9223372036854775808"],
    "uint32": [b"4294967296", b"-1", b"-0"],
    "uint64": [b"18446744073709551616", b"-1"],
}


def substr(text, pos, size, unit, **options):
    return case("Substr", text, scalar(pos), scalar(size), unit=unit, **options)


def join(*inputs, **options):
    return case("StringJoin", list(inputs), N=len(inputs), **options)


def segments(inputs, ids, count, **options):
    return case("UnsortedSegmentJoin", inputs, ids, scalar(count), separator=":", **options)


def ngrams(widths, pad, short, splits=(0, 1, 1, 5), kind=np.int64, **options):
    return case(
        "StringNGrams",
        strings(*"abcde"),
        np.array(splits, kind),
        separator="|",
        ngram_widths=list(widths),
        left_pad="<",
        right_pad=">",
        pad_width=pad,
        preserve_short_sequences=short,
        **options,
    )


def format_case(template, *inputs, summarize=3, placeholder="{}", **options):
    attrs = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return case("StringFormat", list(inputs), **attrs, **options)


CASES = [
    case("StringLower", strings(b"A\0B", b"\0", b"xyZ\0"), encoding="utf-8"),
    case("StringUpper", strings(b"A\0b", b"xyZ\0"), encoding="utf-8"),
    *(case(op, WORDS, encoding=e) for op in ("StringLower", "StringUpper") for e in ("", "utf-8")),
    case("StringLower", WORDS, encoding="UTF-8", fails=True),
    case("StringUpper", strings(["a"], ["b"]), encoding=""),
    case("StringLower", NONE),
    case("StringStrip", SPACES),
    *(
        case("StringLength", strings("aé€😀", b"\x80\x80a\xff\xc0", b""), unit=u)
        for u in ("BYTE", "UTF8_CHAR")
    ),
    *(
        substr(TEXT, pos, size, unit)
        for unit in ("BYTE", "UTF8_CHAR")
        for pos, size in ((0, 2), (1, 2), (-2, 1), (-2, 10), (4, 1), (3, -1), (0, 0), (-3, 2))
    ),
    substr(TEXT, 10, 1, "BYTE"),
    substr(TEXT, -10, 1, "BYTE"),
    substr(TEXT, 11, 1, "BYTE", fails=True),
    substr(TEXT, -11, 1, "BYTE", fails=True),
    substr(TEXT, 5, 1, "UTF8_CHAR", fails=True),
    substr(TEXT, -5, 1, "UTF8_CHAR", fails=True),
    substr(TEXT, -2, -1, "UTF8_CHAR", fails=True),
    substr(TEXT, -2, -1, "BYTE"),
    *(
        case("AsString", kind(-np.nan, 1e-45, -1e-310), **options)
        for kind in (f32, f64)
        for options in FORMATS
    ),
    case("AsString", c64(complex(-1e-45, -np.nan)), shortest=True),
    case("AsString", f16(6e-8), shortest=True),
    format_case("{}", f64(-np.nan, 1e-310)),
    substr(strings(b"a\x80b\xffcd", b"\x80\x80ab\xe2\x82"), 1, 2, "UTF8_CHAR"),
    substr(strings(b"a\x80b\xffcd", b"\x80\x80ab\xe2\x82"), -2, 2, "UTF8_CHAR"),
    substr(strings("", ""), 0, 2, "UTF8_CHAR"),
    case("Substr", strings("abc", "def"), i32(1, 2), i32(1, 1)),
    case("Substr", TEXT, i64(1, 2), i64(1, 1)),
    case("Substr", strings(["abc"], ["def"]), i32([1, 2]), i32([1, 1])),
    case("Substr", strings(["abc", "xyz"], ["def", "uvw"]), i32(1, 2), i32(1, 1)),
    case("Substr", strings([["abc", "xyz"]]), i32([[1, 2]]), i32([[1, 1]])),
    case("Substr", strings([["abc", "xyz"]]), i32(1, 2), i32(1, 1), fails=True),
    case("Substr", strings("abc", "x"), i32(1, 2), scalar(1), fails=True),
    case("Substr", NONE, i32(1), i32(1)),
    join(strings("a", "b"), strings("x")[0:1].reshape(()), strings("c", "d"), separator="-"),
    join(strings("a", "b"), strings("x"), fails=True),
    join(TEXT, separator="-"),
    join(NONE, TEXT),
    *(
        case("ReduceJoin", ABC, np.array(axes, np.int32), keep_dims=keep, separator="-")
        for axes in ([0, 1], [1, 0], [0], [1], [-1, -2], [], 0)
        for keep in (True, False)
    ),
    *(case("ReduceJoin", ABC, np.array(axes, np.int32), fails=True) for axes in ([0, 0], [0, -2], 2, -3)),
    case("ReduceJoin", TEXT, np.zeros(0, np.int32)),
    case("ReduceJoin", np.zeros((2, 0), object), i32(1), separator="-"),
    case("ReduceJoin", np.zeros((2, 0), object), i32(0), separator="-"),
    case("ReduceJoin", strings(["ab", "cd"], [["x", "y"], ["z", "w"]][0]), i32(1)),
    segments(strings("a", "b", "c"), i32(1, 0, 1), 3),
    segments(ABC, i64(1, 0, 1), 2),
    segments(ABC, i32([1, 0], [1, 1], [0, 0]), 2),
    segments(NONE, np.zeros(0, np.int32), 2),
    segments(strings("a", "b", "c"), i32(1, -1, 1), 3, fails=True),
    segments(strings("a", "b", "c"), i32(1, 3, 1), 3, fails=True),
    segments(ABC, i32(1, 0), 2, fails=True),
    segments(strings("", "a", "", "b", "", ""), i32(1, 1, 1, 1, 0, 0), 2),
    segments(ABC, i32(1, 0, 0), -1, fails=True),
    *(
        case("StringSplit", strings("a, b,,c ", "", ",", "é€x"), strings(d)[0:1].reshape(()), skip_empty=s)
        for d in (" ", "", ", ", "]^-")
        for s in (True, False)
    ),
    case("StringSplit", TEXT, TEXT, fails=True),
    case("StringSplit", NONE, TEXT),
    case("StringSplit", strings("a"), strings(","), fails=True),
    *(
        case("StringSplitV2", SENTENCES, strings(sep)[0:1].reshape(()), maxsplit=most)
        for sep in ("", ",", ", ", "aa")
        for most in (-1, 0, 1, 2, -5)
    ),
    case("StringSplitV2", TEXT, TEXT, fails=True),
    case("StringSplitV2", NONE, TEXT),
    ngrams([2], -1, False),
    ngrams([1, 2], -1, False, kind=np.int32),
    ngrams([3], 1, False),
    ngrams([3], 0, True),
    ngrams([6], 1, True),
    ngrams([4, 2], -1, True),
    ngrams([5], 2, False),
    ngrams([3, 3], 5, True),
    ngrams([], 0, False),
    ngrams([], 1, True),
    ngrams([], -1, True, fails=True),
    ngrams([1], 0, True, ()),
    ngrams([0], 0, True, fails=True),
    *(ngrams([1], 0, True, splits, fails=True) for splits in ((0, 1, 1, 6), (1, 5), (0, 3, 2, 5), (0, 4))),
    format_case("a {} b {}", i32(*range(8)), scalar(2.5, np.float32)),
    *(format_case("{}", np.arange(100).reshape(10, 10), summarize=n) for n in (3, -1, 1, 0)),
    format_case("{}", np.arange(64).reshape(4, 4, 4), summarize=1),
    format_case("{}", np.arange(24).reshape(2, 3, 4)),
    format_case("{}", np.arange(6)),
    format_case("{}", np.arange(7)),
    *(format_case("{}", kind(*PRINTED), summarize=-1) for kind in (f32, f64, bf16)),
    format_case("{}", f16(0.1, 1 / 3, 1000, 65504)),
    *(
        format_case("{}", array)
        for array in (boolean(True, False), c64(1 + 2j), i8(-2), u8(200), u64(2**63), i16(3))
    ),
    format_case("{}", strings("a", b'b"c\n\x01', "é\x7f'\\\t\r")),
    *(format_case("{}", np.zeros(shape, np.float32)) for shape in ((0,), (2, 0), (0, 2))),
    format_case("%t% %", TEXT, placeholder="%t%"),
    format_case("{}{}", i32(1), fails=True),
    format_case("{}", i32(1), i32(2), fails=True),
    *(case("AsString", kind(*FLOATS), **options) for kind in (f32, f64) for options in FORMATS),
    *(
        case("AsString", kind(0.1, 1 / 3, -1e-5, 1000, np.nan, -np.inf, -0.0), **options)
        for kind in (f16, bf16)
        for options in FORMATS[:4]
    ),
    *(
        case("AsString", kind(1 + 2j, complex(np.nan, -1)), **options)
        for kind in (c64, c128)
        for options in FORMATS
    ),
    *(
        case("AsString", kind(0, 1, 100), **options)
        for kind in (i8, i16, i32, i64, u8, u16, u32, u64)
        for options in WIDTHS
    ),
    *(case("AsString", i32(-5, 3), **options) for options in WIDTHS),
    case("AsString", i64(-(2**63), 2**63 - 1)),
    case("AsString", u64(2**64 - 1)),
    *(case("AsString", boolean(True, False), **options) for options in WIDTHS),
    *(
        case("AsString", strings("a", "longer than five", ""), **options)
        for options in (*WIDTHS, {"precision": 2})
    ),
    *(
        case("AsString", i32(1), **options, fails=True)
        for options in ({"precision": 2}, {"scientific": True}, {"fill": "x"})
    ),
    case("AsString", f32(1), shortest=True, scientific=True, fails=True),
    case("AsString", f32(1), fill="00", fails=True),
    case("AsString", np.zeros((2, 0), np.float32)),
    *(case("StringToNumber", strings(*NUMBERS, *REALS), out_type=T(t)) for t in ("float32", "float64")),
    *(case("StringToNumber", strings(*NUMBERS[:3], *NUMBERS[5:], *LIMITS[t]), out_type=T(t)) for t in LIMITS),
    *(case("StringToNumber", strings(*NUMBERS), out_type=T(t)) for t in ("int32", "int64")),
    *(
        case("StringToNumber", strings(text), out_type=T(t), fails=True)
        for t in ("float32", "float64", "int32", "uint64")
        for text in NO_NUMBERS
    ),
    *(case("StringToNumber", strings(text), out_type=T("float32"), fails=True) for text in NO_REALS),
    *(case("StringToNumber", strings(text), out_type=T("int64"), fails=True) for text in NO_INTEGERS),
    *(case("StringToNumber", strings(text), out_type=T(t), fails=True) for t in BEYOND for text in BEYOND[t]),
    case("StringToNumber", np.zeros((0, 2), object), out_type=T("float32")),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_strings(c, ways):
    check("strings", c, ways)
