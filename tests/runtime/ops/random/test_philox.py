"""Blocks of the generator: a few at once are the same as many."""

import numpy as np
import pytest

from tfport.runtime.ops.random.philox import FEW, Philox

COUNTERS = [0, 1, (1 << 64) - 2, (1 << 96) - 3, (1 << 128) - 4, 0x0123456789ABCDEF_FEDCBA9876543210]


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("key", [0, 0xDEADBEEF_CAFEF00D, (1 << 64) - 1])
def test_a_few_blocks_are_the_first_of_many(key, counter):
    philox = Philox(key, counter)
    with np.errstate(over="ignore"):
        many = philox.first(4 * FEW)
    for count in (0, 1, FEW):
        few = philox.first(count)
        assert (few.shape, few.dtype) == ((count, 4), np.uint32)
        assert few.tolist() == many[:count].tolist()
    assert philox.blocks(2).tolist() == many[2].tolist()
    assert philox.blocks([[1], [3]]).tolist() == [[many[1].tolist()], [many[3].tolist()]]


def test_the_published_test_vector():
    """Philox 4x32-10 of counter and key 0, as in Random123's `kat_vectors`."""
    assert [f"{word:08x}" for word in Philox(0, 0).blocks(0)] == [
        "6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"
    ]  # fmt: skip
