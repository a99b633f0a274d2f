"""Which tensors have as many images as which others."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.same_batch import BatchSources
from tfport.runtime.operand import Operand

X, Y = (Operand(FLOAT32, (None, 2, 4, 4), name=name) for name in "xy")
ONE, TWO = (Operand(FLOAT32, (count, 2, 4, 4), name="known") for count in (1, 2))


def derived(b, x):
    """A tensor with the images of another, through most of the ops that keep them."""
    weights = b.const(np.ones((2, 2, 1, 1)), FLOAT32)
    pooled = b.MaxPool(b.Relu(b.Conv(x, weights, kernel_shape=[1, 1])), kernel_shape=[1, 1])
    return b.Add(b.Transpose(pooled, perm=[0, 1, 3, 2]), b.Mul(x, b.const(np.ones((2, 1, 1)), FLOAT32)))


@pytest.mark.parametrize(
    ("make", "same"),
    [
        (lambda b: (derived(b, X), X), True),
        (lambda b: (derived(b, X), derived(b, X)), True),
        (lambda b: (derived(b, X), derived(b, Y)), False),
        (lambda b: (b.Add(X, Y), X), False),  # one image of `x` is repeated for all of `y`
        (lambda b: (b.Add(X, b.const(np.ones((3, 1, 1, 1)), FLOAT32)), X), False),
        (lambda b: (b.Transpose(X, perm=[1, 0, 2, 3]), X), False),
        (lambda b: (b.Concat(X, X, axis=0), X), False),
        (lambda b: (TWO, TWO), True),
        (lambda b: (TWO, Operand(FLOAT32, (2, 2, 4, 4))), True),
        (lambda b: (ONE, TWO), False),
    ],
)
def test_same_number_of_images(make, same):
    b = Builder("test")
    one, other = make(b)
    assert BatchSources(b.made).same(one, other) is same
