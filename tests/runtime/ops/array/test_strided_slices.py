"""Indices of strided slices that are prepared once."""

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.runtime.ops.array.strided_slices import constant_index, index_of

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@pytest.mark.parametrize("seed", range(40))
def test_the_index_of_a_constant_slice_is_that_of_any_slice(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, rng.integers(0, 4, 3))
    length = rng.integers(1, 4)
    begin, end = rng.integers(-5, 6, (2, length))
    strides = rng.choice([-2, -1, 1, 2], length)
    attrs = dict(zip(MASKS, rng.integers(0, 8, 5).tolist(), strict=True), ellipsis_mask=0)
    index = constant_index(begin, end, strides, attrs)
    try:
        expected = x[(*index_of(x.shape, begin, end, strides, [attrs[name] for name in MASKS]), ...)]
    except RunFailed:
        if index is not None:
            with pytest.raises(IndexError):
                x[index]
        return
    assert x[index].tolist() == expected.tolist()
