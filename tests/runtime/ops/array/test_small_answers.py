"""Ways that host kernels take for small inputs: the answers are those of NumPy's general functions."""

from __future__ import annotations

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.runtime.ops.array.kernels.filling import MODERATE, range_
from tfport.runtime.ops.array.kernels.gathering import where
from tfport.runtime.ops.array.kernels.rearranging import concat_v2
from tfport.runtime.ops.array.kernels.shapes import expand_dims
from tfport.runtime.ops.shared.axes import check_places


@pytest.mark.parametrize(
    ("start", "limit", "delta"),
    [
        (0, 7, 1),
        (0, 7, 3),
        (7, -2, -2),
        (5, 5, 1),
        (MODERATE, MODERATE + 5, 2),
        (-MODERATE - 3, -MODERATE, 1),
    ],
)
def test_ranges_of_any_size_are_exact(start: int, limit: int, delta: int) -> None:
    made = range_(*(np.array(number, np.int64) for number in (start, limit, delta)))
    assert made.dtype == np.int64
    assert made.tolist() == list(range(start, limit, delta))


@pytest.mark.parametrize("rows", [1, 2, 0])
def test_places_of_a_batch_of_one_are_those_of_any(rows: int) -> None:
    marked = np.array([[0, 1, 0, 1]] * rows, bool).reshape(rows, 4)
    assert where(marked).tolist() == np.argwhere(marked).tolist()
    assert where(marked).shape == (2 * rows, 2)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_axes_are_inserted_as_numpy_does(axis: int) -> None:
    x = np.arange(6).reshape(2, 3).T
    assert expand_dims(x, np.array(axis)).shape == np.expand_dims(x, axis).shape
    assert (expand_dims(x, np.array([axis])) == np.expand_dims(x, axis)).all()


@pytest.mark.parametrize("count", [3, 30])
def test_bad_places_are_named_among_few_and_many(count: int) -> None:
    places = np.arange(count)
    check_places(places, count)
    with pytest.raises(
        RunFailed, match=rf"indices\[{count - 1}\] = {count - 1} is not in \[0, {count - 1}\)"
    ):
        check_places(places, count - 1)
    with pytest.raises(RunFailed, match=r"indices\[0\] = -1 is not in"):
        check_places(places - 1, count)
    check_places(places - 1, count, may_be_negative=True)


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (0, 0), (2, 3), (0, 3, 0)])
def test_empty_vectors_are_concatenated(sizes: tuple[int, ...]) -> None:
    values = [np.arange(size, dtype=np.int32) for size in sizes]
    made = concat_v2(values, np.array(0))
    assert made.dtype == np.int32
    assert made.tolist() == np.concatenate(values).tolist()
    with pytest.raises(RunFailed, match="axis 1 is not in"):
        concat_v2(values, np.array(1))


def test_an_empty_matrix_of_other_width_is_not_concatenated() -> None:
    """TensorFlow compares the sizes of tensors without elements too."""
    with pytest.raises(ValueError, match="must match exactly"):
        concat_v2([np.zeros((0, 3)), np.zeros((2, 2))], np.array(0))
