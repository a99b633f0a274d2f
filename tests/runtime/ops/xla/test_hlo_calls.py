"""Reductions and sorts with arbitrary computations, compared with NumPy's."""

import numpy as np
import pytest

from tfport.runtime.ops.xla.hlo_calls import Computation, reduce, sort

NUMBERS = np.random.default_rng(0)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 100, 257])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_comparator_sorts_and_keeps_equal_ones_in_order(length, axis):
    keys = NUMBERS.integers(0, 20, (length, 3) if axis == 0 else (3, length))
    places = np.broadcast_to(np.expand_dims(np.arange(length), 1 - axis), keys.shape)
    by_tens = Computation(lambda a, b, i, j: [a % 10 < b % 10])
    ordered, order = sort([keys, places], axis, by_tens)
    expected = np.argsort(keys % 10, axis=axis, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(ordered, np.take_along_axis(keys, expected, axis))


@pytest.mark.parametrize("name", ["less", "greater", "total_less", "total_greater"])
def test_a_known_comparator_keeps_equal_ones_in_order(name):
    keys = np.array([2.0, 1, 2, 0, -0.0, 1], np.float32)
    _, order = sort([keys, np.arange(6)], 0, Computation(lambda *_: [], name))
    expected = {
        "less": [3, 4, 1, 5, 0, 2],
        "greater": [0, 2, 1, 5, 3, 4],
        "total_less": [4, 3, 1, 5, 0, 2],
        "total_greater": [0, 2, 1, 5, 3, 4],
    }
    assert order.tolist() == expected[name]


@pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 5000])
def test_a_fold_finds_the_first_of_the_largest(length):
    x = NUMBERS.integers(0, 9, (2, length)).astype(np.float32)
    places = np.broadcast_to(np.arange(length), x.shape)

    def larger(a, i, b, j):
        return [np.where(a >= b, a, b), np.where(a >= b, i, j)]

    starts = [np.array(-1, np.float32), np.array(-1)]
    most, where = reduce([x, places], starts, [1], Computation(larger))
    if length:
        assert np.array_equal(most, x.max(1))
        assert np.array_equal(where, x.argmax(1))
    else:
        assert most.tolist() == [-1, -1]
