"""Embedding and Masking."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

TABLE = np.arange(8, dtype="f").reshape(4, 2)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "uint8"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 2)])
def test_embedding_takes_rows_by_number_of_any_type(dtype, shape):
    config = sequential(
        ("Embedding", {"input_dim": 4, "output_dim": 2}), shape=(None, *shape[1:]), dtype=dtype
    )
    ids = (np.arange(np.prod(shape)).reshape(shape) % 4).astype(dtype)
    np.testing.assert_array_equal(answers(built(config, {"l0": [TABLE]}), ids)[0], TABLE[ids.astype(int)])


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_masking_makes_steps_of_one_value_zeros(value):
    model = built(sequential(("Masking", {"mask_value": value}), shape=(None, None, 2)), {})
    x = np.float32([[[1, value], [value, value], [2, 3]]])
    expected = x.copy()
    expected[0, 1] = 0
    np.testing.assert_array_equal(answers(model, x)[0], expected)
