"""Activations that hybrid kernels round: the steps of a row, by hand."""

import numpy as np
import pytest

from tfport.runtime.ops.lite.kernels.hybrid import hybrid_input

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
