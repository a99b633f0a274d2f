"""Softmax with a mask, whose elements count 0."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built

X = np.float32([[1, 2, 3], [1, 2, 3]])
MASK = np.array([[True, True, False], [False, False, False]])


def masked_softmax() -> dict:
    """A softmax whose mask is an input of the model."""
    kinds = {"x": "float32", "y": "bool"}
    layers = [
        {"class_name": "InputLayer", "config": {"name": name, "batch_input_shape": [None, 3], "dtype": kind}}
        for name, kind in kinds.items()
    ]
    call = [[["x", 0, 0, {"mask": ["y", 0, 0]}]]]
    layers.append({"class_name": "Softmax", "config": {"name": "s", "axis": -1}, "inbound_nodes": call})
    inputs = [[name, 0, 0] for name in kinds]
    config = {"name": "m", "layers": layers, "input_layers": inputs, "output_layers": [["s", 0, 0]]}
    return {"class_name": "Functional", "config": config}


@pytest.mark.parametrize(
    ("version", "of_nothing"), [("2.15.0", [1 / 3, 1 / 3, 1 / 3]), ("3.15.1", [0, 0, 0])]
)
def test_masked_elements_get_no_part(version, of_nothing):
    answer = answers(built(masked_softmax(), {}, version), X, MASK)[0]
    np.testing.assert_allclose(answer, [[0.2689414, 0.7310586, 0], of_nothing], rtol=1e-5, atol=1e-6)
