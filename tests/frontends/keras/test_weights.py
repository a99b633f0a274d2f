"""Weights that are missing or do not fit: all of them in one error."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

from tfport.errors import UnreadableFile

DENSE = [("Dense", {"units": 3}), ("Dense", {"units": 2})]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, r"`l0`: its weight `kernel` is not in the file; .*`l1`: its weight `bias` is not in the file$"),
        (
            {"l0": [np.zeros((3, 2)), np.zeros(3)], "l1": [np.zeros((3, 2)), np.zeros(3)]},
            r"has the shape \(3, 2\) in the file; expected \(2, 3\); .*\(3,\) in the file; expected \(2,\)$",
        ),
        (
            {"l0": [np.zeros((2, 3)), np.zeros(3), np.zeros(3)], "l1": [np.zeros((3, 2)), np.zeros(2)]},
            "layer `l0` has 3 arrays in the file; expected 2: `kernel`, `bias`$",
        ),
    ],
)
def test_all_problems_are_named_at_once(weights, message):
    with pytest.raises(UnreadableFile, match=message):
        built(sequential(*DENSE, shape=(None, 2)), weights)


def test_a_long_list_of_problems_is_cut():
    config = sequential(*[("Dense", {"units": 2})] * 9, shape=(None, 2))
    with pytest.raises(UnreadableFile, match=r"`l5`: its weight `bias` is not in the file; and 6 more$"):
        built(config, {})


def test_a_weight_without_axes_stays_an_array():
    source = {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [None, 2, 1]}}
    attention = {"class_name": "Attention", "name": "a", "config": {"name": "a", "use_scale": True}}
    attention["inbound_nodes"] = [[["x", 0, 0, {}], ["x", 0, 0, {}]]]
    options = {"layers": [source, attention], "input_layers": [["x", 0, 0]], "output_layers": [["a", 0, 0]]}
    model = built({"class_name": "Functional", "config": options}, {"a": [np.float32(0)]})
    np.testing.assert_array_equal(answers(model, np.float32([[[1], [3]]]))[0], [[[2], [2]]])
