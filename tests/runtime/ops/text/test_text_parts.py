"""Ops of TensorFlow Text that cut texts, compared with tensorflow-text 2.21.1 (`record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, graph_case, i32, scalar, strings
from tests.runtime.ops.text.text_samples import ALL, MODELS, NONE

SENTENCES = strings(
    "John said, \"I.B.M. went up 5 points today.\" Really?! Yes... no!",
    "Mushrooms (they're fungi!!) are delicious. (Mushrooms are fungi!) Right :) ok :-))) D: x",
    "He agreed...! What?… \u3002日本\uff0e ok \u055c\u17d4 \u037e x",
    "A.B. C.D.E. U.S.A... ''quoted''. 'x'' !!! )>] a",
    "!!!",
    "x? !!!y",
    "a.) b! ) c !> d ;-*=( :-||",
    "end. \u2003next\u3000last\xa0.",
    ":",
    "(a) b.) (c.) d",
)  # fmt: skip
TOKENS = [
    ["Hi", ".", "(", "Yes", "!", "!", ")", "No", "…", "?", "x"],
    ["...", "!", ":)", ")", "U.S.", "''", "ok", "?", "\u3002", "<", "a", ".", ">"],
    [],
    ["(", "a", "!", ")", "b", "(", "c", ".", ")"],
    ["日本", "\uff0e", "é", "!", "''", "!!", "?"],
]
PROPERTIES = {":)": 0x80, "U.S.": 0x100, "ok": 0x100}


def fragments(rows, encoding="UTF-8", **options):
    words = strings(*(word for row in rows for word in row)) if any(rows) else NONE
    at = np.arange(len(words))
    properties = np.array([PROPERTIES.get(word, 0) for row in rows for word in row], np.int64)
    lengths = np.array(list(map(len, rows)), np.int64)
    return case(
        "SentenceFragments", lengths, at, at + 1, words, properties, input_encoding=encoding, **options
    )


def offsets(form, texts):
    """Where every byte of the normalized texts comes from."""
    return graph_case(
        f"""words = Placeholder() {{dtype=string, shape=(?)}}
        values = Placeholder() {{dtype=int64, shape=(?)}}
        splits = Placeholder() {{dtype=int64, shape=(?)}}
        new = NormalizeUTF8WithOffsetsMap(words) {{normalization_form="{form}"}}
        source = FindSourceOffsets(new:1, values, splits)""",
        fetches=["new", "source"],
        name=f"offsets_{form}",
        words=texts,
        values=np.tile(np.arange(-1, 70), len(texts)),
        splits=np.arange(len(texts) + 1) * 71,
    )


def spans(op, columns, lengths, *more):
    arrays = [strings(*c) if c and isinstance(c[0], str) else np.array(c, np.int32) for c in columns]
    return case(op, *arrays, *(np.cumsum([0, *each]) for each in lengths), *more)


BEGINS, ENDS = [0, 4, 8, 12, 17, 0, 3, 6, 9], [3, 7, 11, 16, 20, 2, 5, 8, 12]
SPAN_BEGINS, SPAN_ENDS, TYPES = (
    [0, 8, 14, 1, 6, 7],
    [7, 11, 22, 4, 7, 14],
    ["animal", "loc", "x", "a", "b", "c"],
)
TAGS = ["B-x", "I-x", "O", "S-y", "E-z", "I-a", "B-b", "E-c", "B-d"]
START = (*(scalar(n) for n in (0,)), scalar(1, np.float32))


def pieces(model, texts, bos, eos, reverse):
    flags = [scalar(flag, bool) for flag in (bos, eos, reverse)]
    return case("TFText>FastSentencepieceTokenize", MODELS[model], texts, *START, *flags)


def joined(model, values, splits, **options):
    return case(
        "TFText>FastSentencepieceDetokenize", MODELS[model], np.array(values, np.int32), splits, **options
    )


OLD_CASES = [
    case("TFText>ByteSplitWithOffsets", ALL),
    case("TFText>ByteSplitWithOffsets", NONE),
    case("TFText>ByteSplitByOffsets", strings("hello", "日本", ""), np.array([0, 2, 3, 1], np.int32),
         np.array([2, 5, 6, 2], np.int32), np.array([0, 2, 4, 4])),
    case("TFText>ByteSplitByOffsets", strings("ab"), np.array([0], np.int32), np.array([3], np.int32),
         np.array([0, 1]), fails=True),
    case("TFText>ByteSplitByOffsets", NONE, *(2 * [np.zeros(0, np.int32)]), np.zeros(1, np.int64)),
    *(
        case("TFText>Utf8Binarize", ALL, word_length=w, bits_per_char=b, replacement_char=0xFFFD)
        for w, b in ((16, 24), (3, 4), (1, 33))
    ),
    case("TFText>Utf8Binarize", NONE, word_length=2, bits_per_char=3, replacement_char=5),
    *(
        spans(
            "TFText>OffsetsToBoiseTags",
            (BEGINS, ENDS, SPAN_BEGINS, SPAN_ENDS, TYPES),
            (*(2 * [[5, 4]]), *(3 * [[3, 3]])),
            scalar(strict, bool),
        )
        for strict in (True, False)
    ),
    spans("TFText>BoiseTagsToOffsets", (BEGINS, ENDS, TAGS), 3 * [[5, 4]]),
    spans("TFText>BoiseTagsToOffsets", (BEGINS, ENDS, TAGS[::-1]), 3 * [[5, 0, 4]]),
    *(fragments(rows) for rows in (TOKENS, [[]], [])),
    fragments([["a", ""]], fails=True),
    fragments([["é", "!"]], "ISO-8859-1"),
    case("SentenceFragmentsV2", SENTENCES),
    case("SentenceFragmentsV2", ALL),
    case("SentenceFragmentsV2", NONE),
    *(offsets(form, ALL[:-1]) for form in ("NFC", "NFKC", "NFD", "NFKD")),
    *(case("PhraseTokenize", ALL, MODELS[m]) for m in ("phrases", "endings", "short")),
    case("PhraseTokenize", strings("the quick brown fox jumped.", "don't ok 👍🏽", "the  quick fox a a!"),
         MODELS["endings"]),
    case("PhraseTokenize", NONE, MODELS["phrases"]),
    *(
        case("TFText>PhraseDetokenize", i32(3, 9, 10, 0, 13), np.array([0, 3, 3, 5]), MODELS[m])
        for m in ("phrases", "endings")
    ),
    *(
        pieces(model, ALL, *flags)
        for model in ("unigram_encoder", "suffix_encoder")
        for flags in ((False, False, False), (True, True, False), (True, True, True))
    ),
    pieces("unigram_encoder", NONE, True, False, False),
    *(
        joined(model, [5, 7, 0, 1, 2, 30, 8], np.array([0, 4, 4, 7], kind))
        for model in ("unigram_decoder", "suffix_decoder")
        for kind in (np.int32, np.int64)
    ),
    joined("unigram_decoder", [99999], np.array([0, 1]), fails=True),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_text_parts(c, ways):
    check("text_parts", c, ways)
