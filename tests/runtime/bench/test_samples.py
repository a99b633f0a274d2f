"""Sample inputs of benchmarks: made from the signature, or the user's rows repeated to the batch."""

import numpy as np
import pytest
from tests.recorded_models import load

import tfport
from tfport.runtime.bench.bench import sample_inputs


def signature():
    return tfport.load(load("module").where).signatures["serving_default"]


@pytest.mark.parametrize("batch", [1, 3])
def test_inputs_have_the_type_and_shape_of_the_signature(batch):
    x = sample_inputs(signature(), batch, {})["x"]
    assert (x.dtype, x.shape) == (np.float32, (batch, 2))


def test_the_first_row_of_an_input_is_repeated():
    x = sample_inputs(signature(), 2, {"x": np.float32([[1, 2], [3, 4]])})["x"]
    assert x.tolist() == [[1, 2], [1, 2]]
