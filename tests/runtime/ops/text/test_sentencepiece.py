"""Results compared with tensorflow-text 2.21.1 (`tests.live.record_old_ops`)."""

import sys

import numpy as np
import pytest
from tests.runtime.cases import check, checks, i32, run, strings
from tests.runtime.ops.text.text_samples import ALL, NONE, with_model

import tfport

OPTIONS = """
    b = Const() {dtype=bool, value=bool()[%d]}
    e = Const() {dtype=bool, value=bool()[%d]}
    r = Const() {dtype=bool, value=bool()[%d]}
"""
SPLIT = """
    x = Placeholder() {dtype=string}
    n = Const() {dtype=int32, value=int32()[%d]}
    a = Const() {dtype=float32, value=float32()[1]}
    y = %s(h, x, n, a, b, e, r) {out_type=%s, Tsplits=%s, return_nbest=%s}
"""
JOIN = """
    x = Placeholder() {dtype=%s}
    s = Placeholder() {dtype=int64}
    y = SentencepieceDetokenizeOp(h, x, s, b, e, r) {T=%s, Tsplits=int64}
"""
TOKENIZE, WITH_OFFSETS = "SentencepieceTokenizeOp", "SentencepieceTokenizeWithOffsetsOp"


def split(model, *, added=(0, 0, 0), op=WITH_OFFSETS, out="int32", splits="int64", best=0, texts=ALL):
    text = OPTIONS % added + SPLIT % (best, op, out, splits, "true" if best else "false")
    return with_model(model, text, fetches=[f"y:{i}" for i in range(4 if op == WITH_OFFSETS else 2)], x=texts)


def join(model, values, row_splits, *, added=(0, 0, 0), **options):
    dtype = "string" if values.dtype == object else "int32"
    row_splits = np.array(row_splits, np.int64)
    return with_model(
        model, OPTIONS % added + JOIN % (dtype, dtype), fetches="y:0", x=values, s=row_splits, **options
    )


def asked(model, op, values, **options):
    dtype = "string" if values.dtype == object else "int32"
    return with_model(
        model, f"x = Placeholder() {{dtype={dtype}}}\ny = {op}(h, x)", fetches="y:0", x=values, **options
    )


PIECES = strings(
    "\u2581The", "<0xE2>", "<0x82>", "\u2581", "nothing like it", "<s>", "<unk>", "a", "\u2581x", "</s>"
)
IDS = np.random.default_rng(0).integers(0, 90, 200).astype(np.int32)
BYTES = np.random.default_rng(1).integers(0, 260, 200).astype(np.int32)
SPLITS = [0, 0, 3, 50, 51, 120, 200]
OLD_CASES = [
    *(
        split(m, added=a)
        for m in ("unigram", "bpe", "suffix")
        for a in ((0, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1))
    ),
    *(split(m, out="string", splits="int32") for m in ("unigram", "bpe", "suffix")),
    *(split(m, op=TOKENIZE, out=o, added=(1, 0, 1)) for m in ("unigram", "bpe") for o in ("int32", "string")),
    split("unigram", op=TOKENIZE, best=3, texts=ALL[:12]),
    split("suffix", best=2, out="string", texts=ALL[:12]),
    split("bpe", texts=NONE),
    split("bpe", op=TOKENIZE, texts=NONE),
    split("unigram", texts=ALL[:6].reshape(2, 3)),
    *(
        join(m, IDS, SPLITS, added=a)
        for m in ("unigram", "bpe", "suffix")
        for a in ((0, 0, 0), (1, 1, 0), (0, 0, 1))
    ),
    join("bpe", BYTES, SPLITS),
    join("bpe", PIECES, [0, 3, 3, 10]),
    join("suffix", PIECES, [0, 10]),
    join("bpe", i32(), [0, 0, 0]),
    join("bpe", i32(5, 100_000), [0, 2], fails=True),
    join("bpe", i32(5, -1), [0, 2], fails=True),
    asked("bpe", "SentencepieceIdToStringOp", i32([1, 2, 300], [4, 0, 7])),
    asked("bpe", "SentencepieceStringToIdOp", PIECES.reshape(2, 5)),
    with_model("bpe", "y = SentencepieceVocabSizeOp(h)", fetches="y:0"),
]


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_sentencepiece(c, ways):
    check("sentencepiece", c, ways)


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(tfport.Error, match=r'pip install "tfport\[text\]"'):
        run(split("bpe"), "host")
