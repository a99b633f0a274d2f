"""Helpers that op families share: axes, sizes, scalars and precision."""

import ml_dtypes
import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.runtime.ops.shared import axes
from tfport.runtime.ops.shared.precision import wide_type, widen

ERRORS = [  # call                                                          message
    (lambda: axes.axis_in(3, 2), "axis 3 is not in [-2, 2)"),
    (lambda: axes.sizes_of(np.array([2, -1])), "sizes must not be negative, found shape [2, -1]"),
    (lambda: axes.sizes_of(np.array([[2]])), "a shape must be a vector, found shape [1, 1]"),
    (lambda: axes.check_indices(np.array([0, 4]), 4), "indices[1] = 4 is not in [0, 4)"),
    (lambda: axes.axis_of(np.array([0]), 2), "axis must be a scalar, found shape [1]"),
    (lambda: axes.axes_of(np.array([0, -2]), 2), "axis 0 is repeated"),
    (lambda: axes.scalar_of(np.array([1]), "depth"), "depth must be a scalar, found shape [1]"),
    (lambda: axes.same_shapes(np.ones(2), np.ones(3)), "inputs must have the same shape, found [2], [3]"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS, ids=[row[1] for row in ERRORS])
def test_an_invalid_value_is_an_error(call, message):
    with pytest.raises(RunFailed) as raised:
        call()
    assert str(raised.value) == message


def test_axes_are_counted_from_the_front():
    assert axes.axis_in(-1, 3) == axes.axis_of(np.array(-1), 3) == 2
    assert axes.axes_of(np.array([-1, 0]), 3) == (2, 0)
    assert axes.sizes_of(np.array(4)) == (4,)


@pytest.mark.parametrize(("dtype", "wide"), [(np.float16, np.float32), (ml_dtypes.bfloat16, np.float32),
                                             (np.float64, np.float64), (np.int8, np.int8)])  # fmt: skip
def test_narrow_floats_are_widened(dtype, wide):
    assert wide_type(np.dtype(dtype)) == wide
    assert widen(np.ones(2, dtype)).dtype == wide


def test_a_wide_array_is_not_copied():
    array = np.ones(2, np.float32)
    assert widen(array) is array
