"""A few values are searched for one by one, with the answers of the kernel."""

import numpy as np
import pytest

from tfport.graph.dtypes import DType
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.kernels.top_k import FEW, few_upper_bounds, upper_bound

INT32 = DType.parse("int32")


def prepared(row):
    array = np.array([row])
    operand = Operand(DType.parse(array.dtype.name), value=array)
    return array, few_upper_bounds((operand, None), {"out_type": INT32})


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_the_same_as_the_kernel(kind):
    row, few = prepared(kind([-1, 0, 0, 3, 100]))
    others = [] if np.dtype(kind).kind == "i" else [np.nan, np.inf, -np.inf, 2.5]
    values = kind([[-2, -1, 0, 1, 3, 100, 101, *others]])
    made = few(row, values)
    assert made.dtype == np.int32
    assert made.tolist() == upper_bound(row, values, out_type=INT32).tolist()


def test_an_empty_row_of_values():
    row, few = prepared(np.float32([1, 2]))
    assert few(row, np.empty((1, 0), np.float32)).shape == (1, 0)


@pytest.mark.parametrize("shape", [(2, 1), (1, FEW + 1), (3,)])
def test_other_values_are_left_to_the_kernel(shape):
    row, few = prepared(np.float32([1, 2]))
    assert few(row, np.zeros(shape, np.float32)) is None


def test_limits_with_nan_are_left_to_the_kernel():
    assert prepared(np.float32([1, np.nan]))[1] is None
