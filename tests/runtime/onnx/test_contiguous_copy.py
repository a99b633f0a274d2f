"""Copies of arrays whose axes are in another order."""

import numpy as np
import pytest

from tfport.runtime.onnx.contiguous_copy import LARGE, contiguous

ARRAYS = {
    "kernel": np.arange(3 * 3 * 150 * 101, dtype=np.float32).reshape(3, 3, 150, 101).transpose(3, 2, 0, 1),
    "kernel of one": np.arange(400 * 333, dtype=np.float32).reshape(1, 1, 400, 333).transpose(3, 2, 0, 1),
    "one channel": np.arange(LARGE, dtype=np.int8).reshape(4, LARGE // 4, 1, 1).transpose(1, 2, 3, 0),
    "matrix": np.arange(700 * 301, dtype=np.float64).reshape(700, 301).T,
    "backwards": np.arange(700 * 301, dtype=np.int64).reshape(700, 301)[::-1],
    "some": np.arange(3 * LARGE, dtype=np.int16)[::3],
    "all the same": np.broadcast_to(np.float32(3), (LARGE, 2)),
    "small": np.arange(12, dtype=np.float32).reshape(3, 4).T,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_copy_has_the_same_elements_in_order(name):
    copy = contiguous(ARRAYS[name])
    assert copy.flags.c_contiguous
    assert copy.dtype == ARRAYS[name].dtype
    np.testing.assert_array_equal(copy, ARRAYS[name])


def test_an_array_in_order_is_not_copied():
    array = np.zeros((LARGE, 2), np.float32)
    assert contiguous(array) is array
