"""Kernels with a low-rank update."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

LORA = {"lora_rank": 1, "lora_alpha": 3}


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (("Dense", {"units": 2, **LORA}), (2,)),
        (("Conv1D", {"filters": 2, "kernel_size": 1, **LORA}), (1, 2)),
    ],
    ids=["Dense", "Conv1D"],
)
def test_files_by_layer_have_the_parts_of_the_update(layer, shape):
    kernel, bias = np.float32([[1, 2], [3, 4]]), np.float32([10, 20])
    down, up = np.float32([[1], [2]]), np.float32([[1, -1]])
    if layer[0] == "Conv1D":
        kernel, down = kernel[None], down[None]
    model = built(sequential(layer, shape=(None, *shape)), {"l0": [bias, down, up, kernel]}, "3.15.1")
    expected = np.float32([1, 1]) @ (kernel + 3 * down @ up) + bias
    np.testing.assert_allclose(
        answers(model, np.ones((1, *shape), "f"))[0].ravel(), expected.ravel(), rtol=1e-6
    )
