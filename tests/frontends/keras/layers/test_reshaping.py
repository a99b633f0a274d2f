"""Layers that crop."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

from tfport.errors import CannotRun


@pytest.mark.parametrize(
    ("layer", "cropping", "shape", "left"),
    [
        ("Cropping1D", [2, 1], (4, 3), (1, 3)),
        ("Cropping2D", [[1, 0], [0, 1]], (2, 2, 3), (1, 1, 3)),
        ("Cropping3D", [[1, 1], [0, 0], [0, 2]], (3, 1, 3, 2), (1, 1, 1, 2)),
    ],
)
def test_one_element_may_remain(layer, cropping, shape, left):
    model = built(sequential((layer, {"cropping": cropping}), shape=(None, *shape)), {})
    assert answers(model, np.zeros((2, *shape), "f"))[0].shape == (2, *left)


@pytest.mark.parametrize(
    ("layer", "options", "shape", "why"),
    [
        ("Cropping1D", {"cropping": [2, 2]}, (4, 3), "2 + 2 elements of axis 1, which has 4"),
        ("Cropping1D", {"cropping": [5, 0]}, (4, 3), "5 + 0 elements of axis 1, which has 4"),
        ("Cropping2D", {"cropping": [[0, 0], [1, 1]]}, (3, 2, 1), "1 + 1 elements of axis 2, which has 2"),
        (
            "Cropping2D",
            {"cropping": [[1, 1], [0, 0]], "data_format": "channels_first"},
            (4, 2, 5),
            "1 + 1 elements of axis 2, which has 2",
        ),
        (
            "Cropping3D",
            {"cropping": [[0, 0], [0, 0], [3, 0]]},
            (4, 4, 3, 1),
            "3 + 0 elements of axis 3, which has 3",
        ),
    ],
)
def test_a_crop_that_leaves_nothing_is_refused_as_keras_does(layer, options, shape, why):
    with pytest.raises(CannotRun) as refused:
        built(sequential((layer, options), shape=(None, *shape)), {})
    assert str(refused.value).endswith(f"layer `l0` ({layer}): it removes {why}: none remain")
