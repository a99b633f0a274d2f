"""A few sparse elements become dense without most of NumPy's calls: the same answers."""

import numpy as np
import pytest

from tfport.runtime.ops.sparse.kernels.dense import few_to_dense, sparse_to_dense

CASES = [  # indices, shape
    ([[0, 0]], [1, 1]),
    ([[0, 0], [0, 1], [1, 0], [1, 1]], [2, 2]),
    ([[0, 2], [1, 0]], [3, 3]),
    ([[1, 1], [0, 0]], [2, 2]),
    ([[1, 0], [1, 0]], [2, 1]),
    (np.empty((0, 2)), [2, 3]),
    (np.empty((0, 2)), [0, 3]),
    ([[2]], [4]),
]
LEFT_TO_THE_KERNEL = [
    ([[0, 2]], [2, 2]),
    ([[0, -1]], [2, 2]),
    (np.empty((0, 2)), [-1, 2]),
    ([[0]], [1, 1]),
    ([[i] for i in range(20)], [20]),
]


def arrays(indices, shape, kind):
    places = np.array(indices, np.int64)
    values = np.arange(1, len(places) + 1).astype(kind)
    if kind is object:
        values[:] = [b"%d" % n for n in values]
    default = np.empty((), kind)
    default[()] = b"" if kind is object else 7
    return places, np.array(shape, np.int64), values, default


@pytest.mark.parametrize("kind", [np.float32, np.int64, object])
@pytest.mark.parametrize(("indices", "shape"), CASES)
def test_the_same_as_the_kernel(indices, shape, kind):
    inputs = arrays(indices, shape, kind)
    few = few_to_dense((), {"validate_indices": False})(*inputs)
    kernel = sparse_to_dense(*inputs, validate_indices=False)
    assert few.dtype == kernel.dtype
    assert few.shape == kernel.shape
    assert few.tolist() == kernel.tolist()


@pytest.mark.parametrize(("indices", "shape"), LEFT_TO_THE_KERNEL)
def test_what_is_wrong_or_large_is_left_to_the_kernel(indices, shape):
    assert few_to_dense((), {"validate_indices": True})(*arrays(indices, shape, np.float32)) is None


def test_order_matters_only_if_indices_are_validated():
    inputs = arrays([[1], [0]], [2], np.float32)
    assert few_to_dense((), {"validate_indices": True})(*inputs) is None
    assert few_to_dense((), {"validate_indices": False})(*inputs).tolist() == [2, 1]
