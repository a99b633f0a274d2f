"""Results compared with tensorflow-text 2.21.1 (`tests.live.record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, i32, scalar, strings
from tests.runtime.ops.text.text_samples import ALL, NONE

from tfport.graph.dtypes import DType
from tfport.runtime.ops.strings.kernels.unicode import decoded

BERT = rb"(\s+|[!-/]|[:-@]|[\[-`]|[{-~]|[\p{P}]|[\x{4E00}-\x{9FFF}])"
BITS = np.zeros(0x3008, np.uint8)
BITS[
    [
        9,
        10,
        11,
        12,
        13,
        32,
        0x85,
        0xA0,
        0x1680,
        *range(0x2000, 0x200B),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
        0x3000,
    ]
] = 1
CONFIG = np.packbits(BITS, bitorder="little").tobytes()
POINTS = [decoded(text, "utf-8").points.astype(np.int32) for text in ALL.tolist()]
ROWS = np.cumsum([0, *map(len, POINTS)])
INT32, INT64 = DType.parse("int32"), DType.parse("int64")


def text(value):
    return strings(value).reshape(())


def pieces(op, length, *rows, dtype=np.int32):
    values = [np.array([n for row in segment for n in row], dtype) for segment in rows]
    splits = [np.cumsum([0, *map(len, segment)]) for segment in rows]
    return case(op, scalar(length), values, splits)


A, B, C = [[1, 2, 3], [], [4, 5, 6, 7, 8]], [[10], [11, 12], [13, 14]], [[20, 21, 22, 23], [24, 25], [26] * 6]
OLD_CASES = [
    *(case("NormalizeUTF8", ALL, normalization_form=f) for f in ("NFC", "NFD", "NFKC", "NFKD", "nfkc")),
    case("NormalizeUTF8", ALL[:4].reshape(2, 2), normalization_form="NFC"),
    case("NormalizeUTF8", ALL, normalization_form="NFX", fails=True),
    case("CaseFoldUTF8", ALL),
    case("CaseFoldUTF8", NONE),
    case("CaseFoldUTF8", ALL[2:3].reshape(())),
    *(
        case("RegexSplitWithOffsets", ALL, text(pattern), text(keep))
        for pattern, keep in (
            (BERT, b"(" + BERT[5:]),
            (rb"(\s)", b""),
            (rb"(\s+)", rb"\s\s+"),
            (rb"(\bb|a,)", b".*"),
            (rb"(^a|#)", b"#"),
            (b"a", b""),
            ("(é)".encode(), "é".encode()),
        )
    ),
    case("RegexSplitWithOffsets", NONE, text(b"(a)"), text(b"")),
    case("RegexSplitWithOffsets", ALL, text(b"(a"), text(b""), fails=True),
    case("TFText>WhitespaceTokenizeWithOffsetsV2", ALL, text(CONFIG)),
    case("TFText>WhitespaceTokenizeWithOffsetsV2", NONE, text(CONFIG)),
    *(
        case("WhitespaceTokenizeWithOffsets", np.concatenate(POINTS), ROWS.astype(dtype))
        for dtype in (np.int32, np.int64)
    ),
    *(
        case(
            "UnicodeScriptTokenizeWithOffsets",
            np.concatenate(POINTS),
            ROWS.astype(dtype),
            keep_whitespace=keep,
        )
        for dtype in (np.int32, np.int64)
        for keep in (True, False)
    ),
    case("UnicodeScriptTokenizeWithOffsets", i32(), np.zeros(1, np.int64), keep_whitespace=False),
    *(pieces("TFText>RoundRobinTrim", n, A, B, C) for n in (0, 1, 4, 5, 8, 9, 100)),
    *(pieces("TFText>RoundRobinGenerateMasks", n, A, B, C, dtype=np.int64) for n in (0, 1, 4, 5, 8, 9, 100)),
    pieces("TFText>RoundRobinTrim", 3, C),
    *(
        case(
            "TFText>NgramsStringJoin",
            strings("a", "b", "c", "d", "e"),
            [np.array(s, np.int64)],
            width=w,
            axis=-1,
            string_separator="|",
        )
        for s in ([0, 5], [0, 2, 2, 5], [0, 0, 5])
        for w in (1, 2, 3, 6)
    ),
    case(
        "TFText>NgramsStringJoin",
        strings("a", "b", "c", "d"),
        [np.array(s, np.int64) for s in ([0, 1, 2], [0, 3, 4])],
        width=2,
        axis=-1,
        string_separator=" ",
    ),
    case(
        "TFText>NgramsStringJoin",
        strings("a", "b", "c", "d").reshape(2, 2),
        [],
        Tsplits=INT64,
        width=2,
        axis=-1,
        string_separator=" ",
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_text_forms(c, ways):
    check("text_forms", c, ways)
