"""For which inputs and answers OpenVINO may take the place of ONNX Runtime."""

import numpy as np
import pytest

from tfport.runtime.engines.same_answers import agree, are_ordinary


@pytest.mark.parametrize(
    ("array", "ordinary"),
    [
        (np.float32([1, -2]), True),
        (np.int32([2**24 - 1, 1 - 2**24]), True),
        (np.int32([2**24]), False),
        (np.int64([-(2**33)]), False),
        (np.uint8([255]), True),
        (np.float32([]), False),
        (np.zeros((0, 3), np.int32), False),
        (np.float32([1, np.nan]), False),
        (np.float32([1, np.inf]), False),
        (np.float32([-np.inf, 1]), False),
        (np.float32([1e30]), False),
        (np.float16([1, np.nan]), False),
    ],
)
def test_which_inputs_are_ordinary(array, ordinary):
    assert are_ordinary([np.float32([0]), array]) == ordinary


@pytest.mark.parametrize(
    ("expected", "answer", "same"),
    [
        (np.float32([1, 1e-9]), np.float32([1 + 5e-6, 0]), True),
        (np.float32([1, 2]), np.float32([1, 2.0001]), False),
        (np.float32([1, np.nan]), np.float32([1, np.nan]), True),
        (np.float32([1, np.nan]), np.float32([1, 0]), False),
        (np.float32([1, 0]), np.float32([1, np.nan]), False),
        (np.float32([1, np.inf]), np.float32([1, -np.inf]), False),
        (np.float64([1]), np.float64([1 + 1e-7]), False),
        (np.float16([1]), np.float16([1.001]), True),
        (np.int64([3]), np.int64([4]), False),
        (np.int64([3]), np.int32([3]), False),
        (np.float32([[1]]), np.float32([1]), False),
        (np.float32([]), np.float32([]), True),
        (np.array([True]), np.array([True]), True),
    ],
)
def test_which_answers_are_the_same(expected, answer, same):
    assert agree([np.int32(0), expected], [np.int32(0), answer]) == same
    assert not agree([expected], [])
