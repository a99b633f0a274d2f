"""Last bits change up and down, another time for each number; integers stay."""

import numpy as np
import pytest

from tfport.runtime.engines.race import next_to


def test_each_float_becomes_one_of_its_neighbors():
    x = np.linspace(-2, 2, 101, dtype=np.float32)
    near = next_to(x, 0)
    above, below = (np.nextafter(x, np.float32(end)) for end in (np.inf, -np.inf))
    assert (near == above).any()
    assert (near == below).any()
    assert ((near == above) | (near == below)).all()


@pytest.mark.parametrize("x", [np.arange(5), np.float32(0.5), np.ones((1, 1), np.float32)])
def test_integers_and_single_numbers_stay(x):
    assert next_to(x, 0) is x


def test_each_number_has_its_own_pattern():
    same = np.ones(100, np.float32)
    assert not np.array_equal(next_to(same, 0), next_to(same, 1))
