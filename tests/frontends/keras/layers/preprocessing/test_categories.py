"""Crosses of categories, as TensorFlow 2.4.4 answers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, functional

from tfport.errors import CannotRun

INPUTS = {"a": ((None, 2), "string"), "b": ((None, 1), "int64"), "c": ((None, 2), "string")}
VALUES = (
    np.array([[b"p", b"q"], [b"r", b""]], object),
    np.array([[1], [-2]]),
    np.array([[b"x", b"y"], [b"z", b""]], object),
)
ALL_THREE = [
    ["p_X_1_X_x", "p_X_1_X_y", "q_X_1_X_x", "q_X_1_X_y"],
    ["r_X_-2_X_z", "r_X_-2_X_", "_X_-2_X_z", "_X_-2_X_"],
]


def crossed(options):
    stored = functional(INPUTS, {"l": ("CategoryCrossing", options, list(INPUTS))}, [("l", 0)])
    (result,) = answers(built(stored, {}, "2.4.0"), *VALUES)
    return [[text.decode() for text in row] for row in result]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"depth": None, "separator": "_X_"}, ALL_THREE),
        (
            {"depth": 2, "separator": "-"},
            [
                ["p", "q", "1", "x", "y", "p-1", "q-1", "p-x", "p-y", "q-x", "q-y", "1-x", "1-y"],
                ["r", "", "-2", "z", "", "r--2", "--2", "r-z", "r-", "-z", "-", "-2-z", "-2-"],
            ],
        ),
        (
            {"depth": [2, 3], "separator": "_X_"},
            [
                ["p_X_1", "q_X_1", "p_X_x", "p_X_y", "q_X_x", "q_X_y", "1_X_x", "1_X_y"] + ALL_THREE[0],
                ["r_X_-2", "_X_-2", "r_X_z", "r_X_", "_X_z", "_X_", "-2_X_z", "-2_X_"] + ALL_THREE[1],
            ],
        ),
    ],
)
def test_crosses(options, expected):
    assert crossed(options) == expected


def test_a_cross_of_more_inputs_than_there_are_is_refused():
    with pytest.raises(CannotRun, match=r"crosses \[4\] of 3 inputs"):
        crossed({"depth": [4], "separator": "_X_"})
