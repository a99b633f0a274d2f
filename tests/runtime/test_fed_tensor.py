"""Fed values are converted and checked with what was looked up once."""

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.fed_tensor import FedTensor, FedValue

X = FedTensor("x:0", DType.parse("float32"), Shape((None, 3)))
SWITCH = FedTensor("p:0", DType.parse("bool"), Shape(None))


def test_an_array_of_the_type_is_passed_as_it_is():
    array = np.ones((2, 3), np.float32)
    assert X.array(array, any_shape=False) is array


@pytest.mark.parametrize("value", [[[1, 2, 3]], np.ones((1, 3), np.float32)[:, ::-1]])
def test_other_values_are_converted(value):
    array = X.array(value, any_shape=False)
    assert array.dtype is np.dtype(np.float32)
    assert array.tolist() == np.asarray(value).tolist()


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 2, 3), ()])
def test_another_shape_is_an_error_unless_any_is_allowed(shape):
    array = np.zeros(shape, np.float32)
    with pytest.raises(RunFailed, match=r"`x:0` must have shape \(\?, 3\), got"):
        X.array(array, any_shape=False)
    assert X.array(array, any_shape=True) is array
    assert X.undeclared_rank(array) == len(shape)


def test_the_declared_rank_is_not_planned_for():
    assert X.undeclared_rank(np.zeros((5, 3), np.float32)) is None
    assert SWITCH.undeclared_rank(np.array(True)) == 0


def test_values_of_switches():
    assert SWITCH.special_value(np.array(False)) == FedValue(False)
    assert SWITCH.special_value(np.array([False])) is None


def test_what_cannot_be_fed():
    for name in ("resource", "variant"):
        with pytest.raises(RunFailed, match="cannot be fed"):
            FedTensor("r:0", DType.parse(name), Shape(None)).array(1, any_shape=False)
    with pytest.raises(RunFailed, match="got the int 1"):
        FedTensor("s:0", DType.parse("string"), Shape(None)).array(np.array([1], object), any_shape=False)
