"""A single text is split as one of several is."""

import numpy as np
import pytest

from tfport.runtime.ops.strings.kernels.split import string_split, string_split_v2

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
