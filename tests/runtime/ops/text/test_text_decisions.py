"""Ops of TensorFlow Text that decide by scores, compared with tensorflow-text 2.21.1 (`record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, numbers, scalar, strings
from tests.runtime.ops.text.text_samples import ALL, NONE

from tfport.graph.dtypes import DType

INT32, INT64 = DType.parse("int32"), DType.parse("int64")
DRAW = np.random.default_rng(0)


def sequences(scores, lengths, allowed=None, weights=None, *, kind=np.int64, **attrs):
    allowed = np.zeros((0, 0), bool) if allowed is None else allowed
    weights = np.zeros((0, 0), np.float32) if weights is None else weights
    return case("ConstrainedSequence", scores, np.array(lengths, kind), allowed, weights, **attrs)


def ways(**more):
    return [
        {"use_viterbi": viterbi, "use_log_space": log, "use_start_and_end_states": outer, **more}
        for viterbi in (True, False)
        for log in (True, False)
        for outer in (True, False)
    ]


def constraints(states, outer, seed):
    draw = np.random.default_rng(seed)
    size = states + outer
    return draw.random((size, size)) < 0.6, draw.random((size, size)).astype(np.float32)


SCORES = DRAW.random((4, 6, 3)).astype(np.float32)
TIES = np.round(DRAW.random((3, 5, 4)) * 2).astype(np.float32)
ODD = np.array([[[np.nan, 1], [-np.inf, -np.inf], [3, np.inf]]], np.float32)
SEQUENCES = [
    sequences(scores, lengths, *constraints(scores.shape[-1], way["use_start_and_end_states"], seed), **way)
    for seed, (scores, lengths) in enumerate(
        [(SCORES, [6, 3, 1, 0]), (TIES, [5, 5, 2]), (SCORES[0], [6]), (ODD, [3]), (SCORES[:0], [])]
    )
    for way in ways()
]


def graphs(count, size, kind, missing, seed):
    draw = np.random.default_rng(seed)
    scores = np.round(draw.normal(0, 4, (count, size, size)))
    if kind is np.int32:
        return scores.astype(kind)
    return np.where(draw.random(scores.shape) < missing, -np.inf, scores).astype(kind)


def rouge(hypotheses, references, alpha, kind=np.int64, of=strings, **options):
    def flat(rows):
        values = [token for row in rows for token in row]
        return of(*values) if values else of("a")[:0], np.cumsum([0, *map(len, rows)]).astype(kind)

    return case("RougeL", *flat(hypotheses), *flat(references), scalar(alpha, np.float32), **options)


HYPOTHESES = [["the", "cat", "sat", "on", "the", "mat"], [], ["a"], ["a", "b", "c", "a", "b"], ["x"]]
REFERENCES = [["the", "dog", "sat", "on", "a", "mat"], ["a"], [], ["b", "a", "c", "b", "a", "c"], ["x"]]
WIDTHS = np.frombuffer(b"\1" * 0xC0 + b"\2" * 0x20 + b"\3" * 0x10 + b"\4" * 0x10, np.uint8)


def count_of(text):
    """The characters of a text as these ops count them; 0 if the last one is cut."""
    at = count = 0
    while at < len(text):
        at += int(WIDTHS[text[at]])
        count += 1
    return count if at == len(text) else 0


WHOLE = np.array([text for text in ALL.tolist() if not text or count_of(text)], object)
"""TensorFlow Text reads behind the end of the other texts."""
COUNTS = [count_of(text) for text in WHOLE.tolist()]
LABELS = (np.arange(sum(COUNTS)) * 7 % 5 < 3).astype(np.int32)
LOGITS = np.random.default_rng(2).integers(0, 3, (len(WHOLE), max(COUNTS), 2)).astype(np.float32)
OLD_CASES = [
    *SEQUENCES,
    *(sequences(SCORES, [6, 3, 1, 0], **way) for way in ways(Tsplits=INT32)),
    sequences(SCORES, [6, 3, 1, 0], kind=np.int32, **ways()[0]),
    sequences(SCORES, [6, 3, 1], fails=True, **ways()[0]),
    sequences(SCORES, [7, 3, 1, 0], fails=True, **ways()[0]),
    sequences(SCORES, [6, 3, 1, 0], np.ones((2, 2), bool), fails=True, **ways()[0]),
    sequences(SCORES, [6, 3, 1, 0], None, -np.ones((3, 3), np.float32), fails=True, **ways()[3]),
    *(
        case("MaxSpanningTree", np.array(sizes, np.int32), graphs(len(sizes), 6, kind, 0.3, seed), forest=f)
        for seed, sizes in enumerate(([6, 5, 3, 1], [2, 6], [4]))
        for kind in (np.float32, np.float64, np.int32)
        for f in (True, False)
    ),
    *(
        case("MaxSpanningTree", np.full(20, 9, np.int32), graphs(20, 9, np.float32, 0.1, seed), forest=f)
        for seed in (7, 8)
        for f in (True, False)
    ),
    case("MaxSpanningTree", np.array([2], np.int32), np.full((1, 2, 2), np.inf, np.float32), fails=True),
    case("MaxSpanningTree", np.array([3], np.int32), numbers(1, 2, 2), fails=True),
    case("MaxSpanningTree", np.zeros(0, np.int32), np.zeros((0, 2, 2), np.float32)),
    *(rouge(HYPOTHESES, REFERENCES, alpha) for alpha in (0.5, 0, 1, -1)),
    rouge(HYPOTHESES, REFERENCES, 0.3, np.int32),
    rouge([[1, 2, 3], [5]], [[3, 1, 2], [5, 5]], 0.5, of=lambda *v: np.array(v, np.int64)),
    rouge([], [], 0.5),
    rouge(HYPOTHESES, REFERENCES, 1.5, fails=True),
    *(
        case(
            "SplitMergeTokenizeWithOffsets",
            WHOLE,
            LABELS,
            np.cumsum([0, *COUNTS]).astype(np.int32),
            force_split_at_break_character=forced,
        )
        for forced in (True, False)
    ),
    case("SplitMergeTokenizeWithOffsets", NONE, LABELS[:0], np.zeros(1, np.int32)),
    case("SplitMergeTokenizeWithOffsets", strings("abc"), LABELS[:2], np.array([0, 2], np.int32), fails=True),
    *(case("TokenizerFromLogits", WHOLE, LOGITS, scalar(forced, bool)) for forced in (True, False)),
    case("TokenizerFromLogits", NONE, LOGITS[:0], scalar(True, bool)),
    case("TokenizerFromLogits", strings("abc"), LOGITS[:1, :2], scalar(True, bool), fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_text_decisions(c, ways):
    check("text_decisions", c, ways)
