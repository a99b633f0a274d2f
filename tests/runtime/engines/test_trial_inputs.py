"""Variations of inputs: the same sizes and types, other numbers."""

import numpy as np

from tfport.runtime.engines.race import trial_inputs

X, INDICES = np.float32([[3, 1], [2, 6]]), np.int32([7, 0])


def test_floats_are_reversed_sorted_and_standardized():
    (backward, kept), (rising, _), (standard, _) = trial_inputs([X, INDICES])
    assert backward.tolist() == [[6, 2], [1, 3]]
    assert rising.tolist() == [[1, 2], [3, 6]]
    assert abs(standard.mean()) < 1e-6
    assert abs(standard.std() - 1) < 1e-6
    assert kept is INDICES
    assert {(a.dtype, a.shape) for a in (backward, rising, standard)} == {(X.dtype, X.shape)}


def test_equal_numbers_have_no_deviation():
    *_, (standard,) = trial_inputs([np.full((2, 2), 5, np.float16)])
    assert standard.tolist() == [[0, 0], [0, 0]]


def test_there_is_nothing_to_vary_without_floats():
    assert list(trial_inputs([INDICES])) == []
