"""Activations that hybrid kernels round: the steps of a row, by hand."""

import numpy as np
import pytest

from tfport.runtime.ops.lite.kernels.recurrent import hybrid_input

ROWS = {
    "symmetric steps": (False, [[-127.0, 0.4, 0.5, 2.5]], [[-127.0, 0.0, 1.0, 3.0]]),
    "zeros stay": (False, [[0.0, 0.0]], [[0.0, 0.0]]),
    "each row has its range": (False, [[127.0, 1.2], [12.7, 0.14]], [[127.0, 1.0], [12.7, 0.1]]),
    "asymmetric steps": (True, [[0.0, 255.0, 1.4]], [[0.0, 255.0, 1.0]]),
    "all negative": (True, [[-255.0, -0.6]], [[-255.0, -1.0]]),
    "asymmetric zeros": (True, [[0.0, 0.0]], [[0.0, 0.0]]),
    "no elements": (True, np.zeros((0, 3)), np.zeros((0, 3))),
}


@pytest.mark.parametrize(("asymmetric", "x", "rounded"), ROWS.values(), ids=ROWS)
def test_rows_are_rounded_to_their_own_steps(asymmetric, x, rounded):
    result = hybrid_input(np.asarray(x, np.float32), asymmetric=asymmetric, axis=1)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, np.asarray(rounded, np.float32), rtol=1e-6)


def test_rows_may_be_in_the_second_dimension():
    x = np.array([[[0.0, 255.0, 1.4], [0.0, 25.5, 0.14]]], np.float32)
    rounded = hybrid_input(x, asymmetric=True, axis=2)
    np.testing.assert_allclose(rounded, [[[0.0, 255.0, 1.0], [0.0, 25.5, 0.1]]], rtol=1e-6)


ONE_ROW = [
    np.random.default_rng(0).normal(size=20),
    [-1, 1, 0.5, -0.5, 0.25],
    [-1, 5, 2, 0.3],
    [3e38, -3e38, 1],
    [1e-40, 0, -1e-41],
    [np.inf, 1, -2],
    [np.nan, 1, -2],
    [0, 0],
]


@pytest.mark.parametrize("row", ONE_ROW, ids=range(len(ONE_ROW)))
@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_is_rounded_alone_as_among_others(row, sign):
    x = sign * np.asarray([row], np.float32)
    with np.errstate(all="ignore"):
        alone, among = (hybrid_input(rows, asymmetric=True, axis=1) for rows in (x, np.concatenate([x, x])))
    np.testing.assert_array_equal(alone, among[:1])
