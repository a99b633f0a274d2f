"""The least epsilon of BatchNormalization, measured with a variance of 0."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

PLAIN, FUSED = 3162.2778, 316.0698
"""1 / sqrt(epsilon), for the epsilon of the layer, 1e-7, and for the least one, 1.001e-5."""
MEASURED = [  # version, sizes behind the batch, axis, what the release answers
    ("1.2.2", (2, 2, 3), -1, PLAIN),
    ("2.3.1", (2, 2, 3), -1, FUSED),
    ("2.3.1", (2, 2, 3), 1, PLAIN),
    ("2.2.4-tf", (2, 2, 3), -1, FUSED),
    ("2.2.4-tf", (2, 3), -1, PLAIN),
    ("2.2.4-tf", (2, 2, 2, 3), -1, PLAIN),
    ("2.6.0", (2, 2, 3), 1, FUSED),
    ("2.6.0", (2, 3), -1, PLAIN),
    ("2.6.0", (2, 2, 2, 3), 1, FUSED),
    ("2.9.0", (2, 2, 2, 3), -1, FUSED),
    ("2.12.0", (2, 2, 3), -1, PLAIN),
    ("2.12.0", (2, 2, 2, 3), 1, PLAIN),
]


@pytest.mark.parametrize(("version", "sizes", "axis", "expected"), MEASURED, ids=str)
def test_the_fused_op_of_old_releases_has_a_least_epsilon(version, sizes, axis, expected):
    layer = ("BatchNormalization", {"axis": axis, "epsilon": 1e-7})
    ones, zeros = (np.full(((None, *sizes)[axis],), value, "f") for value in (1, 0))
    model = built(sequential(layer, shape=(None, *sizes)), {"l0": [ones, zeros, zeros, zeros]}, version)
    assert answers(model, np.ones((1, *sizes), "f"))[0].flat[0] == pytest.approx(expected, rel=1e-6)
