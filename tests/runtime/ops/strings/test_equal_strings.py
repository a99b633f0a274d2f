"""Comparing addresses first gives the same result as comparing bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfport.runtime.ops.math.kernels.comparisons import equal, not_equal
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import MANY, differ

WORDS = [b"", b"a", b"word", b"another word"]


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=40), other=st.sampled_from(WORDS))
def test_strings_are_compared_by_value(words, other):
    copies = [bytes(bytearray(word)) for word in words]  # at other addresses, unless they are short
    for strings in (words, copies):
        expected = [string != other for string in strings]
        assert differ(string_array(strings), other).tolist() == expected
        columns = string_array([*strings, *strings], (2, -1))
        assert differ(columns.T, other).tolist() == np.array([expected, expected]).T.tolist()


def test_both_comparisons_of_many_strings():
    strings = string_array([WORDS[i % 4] for i in range(2 * MANY)], (2, MANY))
    words = strings.reshape(-1).tolist()
    for other in (string_array([b"word"], ()), string_array([b"missing"], ())):
        is_equal = equal(strings, other, incompatible_shape_error=True)
        assert is_equal.dtype == bool
        assert is_equal.reshape(-1).tolist() == [word == other[()] for word in words]
        is_not = not_equal(strings, other, incompatible_shape_error=True)
        assert is_not.reshape(-1).tolist() == [word != other[()] for word in words]
