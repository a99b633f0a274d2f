"""A single text is split as one of several is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.kernels.join import string_ngrams, string_split, string_split_v2

TEXTS = [b"", b"a", b"a b  c", b"  ", b"\0 x"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("separator", [b"", b" "])
def test_a_single_text_is_split_as_one_of_several(text: bytes, separator: bytes) -> None:
    one, two = np.array([text], object), np.array([text, b"x y z w v"], object)
    sep = np.array(separator, object)
    for split in (
        lambda texts: string_split(texts, sep, skip_empty=False),
        lambda texts: string_split_v2(texts, sep, maxsplit=-1),
    ):
        indices, words, shape = split(one)
        more_indices, more_words, _ = split(two)
        count = len(words)
        assert indices.tolist() == more_indices[:count].tolist()
        assert words.tolist() == more_words[:count].tolist()
        assert shape.tolist() == [1, count]
        assert (more_indices[count:, 0] == 1).all()


@given(texts=st.lists(st.binary(max_size=6), max_size=5))
def test_texts_are_split_into_bytes(texts: list[bytes]) -> None:
    indices, words, shape = string_split(string_array(texts), np.array(b"", object), skip_empty=True)
    assert indices.tolist() == [[row, at] for row, text in enumerate(texts) for at in range(len(text))]
    assert words.tolist() == [text[i : i + 1] for text in texts for i in range(len(text))]
    assert shape.tolist() == [len(texts), max(map(len, texts), default=0)]


@given(texts=st.lists(st.lists(st.binary(max_size=2), max_size=6), min_size=1), width=st.integers(1, 4))
def test_ngrams_are_joined_slices(texts: list[list[bytes]], width: int) -> None:
    words = [word for text in texts for word in text]
    splits = np.cumsum([0, *map(len, texts)])
    ngrams, ends = string_ngrams(
        string_array(words), splits, separator="-", ngram_widths=[width], left_pad="<", right_pad=">",
        pad_width=0, preserve_short_sequences=False,
    )  # fmt: skip
    expected = [[b"-".join(text[i : i + width]) for i in range(len(text) - width + 1)] for text in texts]
    assert ngrams.tolist() == [gram for grams in expected for gram in grams]
    assert ends.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
