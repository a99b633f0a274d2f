"""Results compared with tensorflow-text 2.21.1 (`tests.live.record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, graph_case, i32, strings
from tests.runtime.ops.text.text_samples import ALL, MODELS, NONE

from tfport.runtime.ops.text.characters import between_spaces

WORDS = strings(*sorted({word for text in ALL.tolist() for word in text.split()})[:300], b"")
TABLE = """
    k = Placeholder() {dtype=string}
    v = Placeholder() {dtype=int64}
    x = Placeholder() {dtype=string}
    t = HashTableV2() {key_dtype=string, value_dtype=int64, container="", shared_name="",
        use_node_name_sharing=true}
    i = LookupTableImportV2(t, k, v) {Tin=string, Tout=int64}
    y = WordpieceTokenizeWithOffsets(x, t, ^i) {suffix_indicator="##", max_bytes_per_word=%d,
        max_chars_per_token=%d, use_unknown_token=%s, unknown_token="[UNK]", split_unknown_characters=%s,
        output_row_partition_type="%s"}
""".replace(",\n        ", ", ")


def by_table(longest, characters, use_unknown, split_unknown, partition="row_splits", words=WORDS):
    keys = strings(*MODELS["vocabulary"].tolist())
    flags = ["true" if flag else "false" for flag in (use_unknown, split_unknown)]
    return graph_case(
        TABLE % (longest, characters, *flags, partition),
        fetches=[f"y:{i}" for i in range(4)],
        x=words, k=keys, v=np.arange(len(keys)),
    )  # fmt: skip


def ids(*row_splits):
    return i32(11, 6, 7, 6, 12, 0, 33, 2), np.array(row_splits, np.int64)


OLD_CASES = [
    *(case("FastWordpieceTokenizeWithOffsets", ALL, MODELS[m]) for m in ("texts", "words")),
    case("FastWordpieceTokenizeWithOffsets", WORDS, MODELS["words"]),
    case("FastWordpieceTokenizeWithOffsets", NONE, MODELS["texts"]),
    case("TFText>FastWordpieceDetokenize", *ids(0, 0, 4, 8), MODELS["texts"]),
    case("TFText>FastWordpieceDetokenize", *ids(0, 8), MODELS["words"]),
    *(
        case("FastBertNormalize", texts, MODELS[m], get_offsets=o)
        for m in ("lower", "cased") for o in (True, False) for texts in (ALL, NONE)
    ),
    by_table(100, 0, True, False), by_table(10, 3, True, True), by_table(100, 5, False, False),
    by_table(10, 0, False, True, "row_lengths"), by_table(100, 0, True, False, words=NONE),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_wordpiece(c, ways):
    check("wordpiece", c, ways)


def test_texts_are_split_at_each_space():
    parts, begins, ends = between_spaces([b"a  bc", b"", b" d\te "])
    assert parts == [b"a", b"", b"bc", b"", b"", b"d\te", b""]
    assert begins.tolist() == [0, 2, 3, 0, 0, 1, 5]
    assert ends.tolist() == [3, 4, 7]
    assert [len(each) for each in between_spaces([])] == [0, 0, 0]
