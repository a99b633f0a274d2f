"""Ways that host kernels take for small inputs: the answers are those of NumPy's general functions."""

from __future__ import annotations

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.graph.dtypes import INT32, INT64, STRING
from tfport.runtime.lower import Context
from tfport.runtime.operand import Operand
from tfport.runtime.ops.array.kernels.filling import MODERATE, range_
from tfport.runtime.ops.array.kernels.gathering import gather_nd, gather_rows, gather_v2, where
from tfport.runtime.ops.array.kernels.rearranging import concat_v2
from tfport.runtime.ops.array.kernels.shapes import expand_dims
from tfport.runtime.ops.shared.axes import check_indices


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
    check_indices(places, count)
    with pytest.raises(
        RunFailed, match=rf"indices\[{count - 1}\] = {count - 1} is not in \[0, {count - 1}\)"
    ):
        check_indices(places, count - 1)
    with pytest.raises(RunFailed, match=r"indices\[0\] = -1 is not in"):
        check_indices(places - 1, count)
    check_indices(places - 1, count, may_be_negative=True)


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


CONTEXT = Context(None, "gather", "GatherNd", (STRING,))


def gathered(params, indices, policy=""):
    return gather_nd(params, np.array(indices, np.int32), bad_indices_policy=policy, context=CONTEXT)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_gathered_slices_are_those_of_each_index(depth: int) -> None:
    params = np.array([b"%d" % n for n in range(24)], object).reshape(2, 3, 4)
    indices = np.random.default_rng(depth).integers(0, 2, (5, 2, depth))
    for given in (params, params.transpose(0, 2, 1)):
        made = gathered(given, indices)
        assert made.shape == (5, 2, *given.shape[depth:])
        for at in np.ndindex(5, 2):
            assert np.array_equal(made[at], given[tuple(indices[at])])


@pytest.mark.parametrize("bad", [[-1, 0], [2, 0], [0, 3]])
def test_an_index_out_of_bounds_is_refused_or_ignored(bad: list[int]) -> None:
    params = np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], object)
    with pytest.raises(RunFailed, match="does not index into param shape"):
        gathered(params, [[0, 1], bad])
    assert gathered(params, [[1, 1], bad], "IGNORE").tolist() == [b"e", b""]


@pytest.mark.parametrize("count", [1, 8, 9, 30])
@pytest.mark.parametrize("shape", [(5,), (5, 2)])
def test_rows_in_range_are_gathered_quickly(shape: tuple[int, ...], count: int) -> None:
    params, axis = np.arange(np.prod(shape)).reshape(shape), np.array(0, np.int32)
    operands = [Operand(INT64, shape), Operand(INT64, (None,)), Operand(INT32, value=axis)]
    rows = gather_rows(operands, {"batch_dims": 0})
    indices = np.random.default_rng(count).integers(0, 5, count)
    assert rows(params, indices, axis).tolist() == gather_v2(params, indices, axis, batch_dims=0).tolist()
    for wrong in (-1, 5):
        indices[-1] = wrong
        assert rows(params, indices, axis) is None
    assert rows(params, indices[:0], axis) is None
    assert rows(np.array(7), indices, axis) is None  # a scalar has no rows
    assert gather_rows([*operands[:2], Operand(INT32, ())], {"batch_dims": 0}) is None
