"""Constants that are stored without most of their zeros."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.formats.lite.sparse import dense_array

MATRIX = np.array([[0, 5, 0, 0], [0, 0, 0, 0], [6, 0, 0, 7]], np.int8)
ROWS = {"format": "DENSE", "dense_size": 3}
COLUMNS = {
    "format": "SPARSE_CSR",
    "array_segments": {"values": (0, 1, 1, 3)},
    "array_indices": {"values": (1, 0, 3)},
}
VALUES = np.array([5, 6, 7], np.int8)


def _level(indices, segments):
    return {
        "format": "SPARSE_CSR",
        "array_segments": {"values": segments},
        "array_indices": {"values": indices},
    }


def test_rows_of_sparse_columns():
    sparsity = {"traversal_order": (0, 1), "dim_metadata": [ROWS, COLUMNS]}
    assert dense_array(VALUES, (3, 4), sparsity).tolist() == MATRIX.tolist()


def test_columns_first():
    """Columns 0, 1 and 3 have elements, in these rows."""
    levels = [_level((0, 1, 3), (0, 3)), _level((2, 0, 2), (0, 1, 2, 3))]
    sparsity = {"traversal_order": (1, 0), "dim_metadata": levels}
    assert dense_array(np.array([6, 5, 7], np.int8), (3, 4), sparsity).tolist() == MATRIX.tolist()


def test_blocks():
    """Blocks of 2 x 2, of which the upper right and the lower left are stored; indices of one byte."""
    levels = [
        {"dense_size": 2},
        _level(memoryview(bytes([1, 0])), memoryview(bytes([0, 1, 2]))),
        {"dense_size": 2},
        {"dense_size": 2},
    ]
    sparsity = {"traversal_order": (0, 1, 2, 3), "block_map": (0, 1), "dim_metadata": levels}
    dense = dense_array(np.arange(1, 9, dtype=np.float32), (4, 4), sparsity)
    assert dense.tolist() == [[0, 0, 1, 2], [0, 0, 3, 4], [5, 6, 0, 0], [7, 8, 0, 0]]


@pytest.mark.parametrize(
    ("shape", "sparsity", "why"),
    [
        ((3, 4), {"traversal_order": (0, 0), "dim_metadata": [ROWS, COLUMNS]}, "levels"),
        ((3, 4), {"traversal_order": (0, 1, 2), "block_map": (7,), "dim_metadata": [ROWS] * 3}, "blocks"),
        ((3, 3), {"traversal_order": (0, 1), "dim_metadata": [ROWS, COLUMNS]}, "outside"),
        ((3, 4), {"traversal_order": (0, 1), "dim_metadata": [ROWS, ROWS]}, "more than"),
        ((9, 4), {"traversal_order": (0, 1), "dim_metadata": [{"dense_size": 1 << 40}, COLUMNS]}, "level of"),
        ((3, 4), {"traversal_order": (0, 1), "dim_metadata": [ROWS, _level((1,), (0, 1))]}, "fewer segments"),
        (
            (3, 4),
            {"traversal_order": (0, 1), "dim_metadata": [ROWS, _level((1,), (0, 9, 3, 1))]},
            "do not fit",
        ),
        ((1 << 20, 1 << 20), {"traversal_order": (0, 1), "dim_metadata": [ROWS, COLUMNS]}, "too few"),
    ],
)
def test_levels_that_do_not_fit_are_refused(shape, sparsity, why):
    with pytest.raises(ValueError, match=why):
        dense_array(VALUES, shape, sparsity)


_NUMBERS = st.lists(st.integers(-2, 9), max_size=6)
_LEVELS = st.one_of(
    st.builds(lambda size: {"dense_size": size}, st.integers(-2, 9)), st.builds(_level, _NUMBERS, _NUMBERS)
)


@given(st.lists(st.integers(0, 5), max_size=3), _NUMBERS, _NUMBERS, st.lists(_LEVELS, max_size=4))
def test_any_levels_give_an_array_or_an_error(shape, order, blocks, levels):
    sparsity = {"traversal_order": order, "block_map": blocks, "dim_metadata": levels}
    with contextlib.suppress(ValueError):
        assert dense_array(VALUES, shape, sparsity).shape == tuple(shape)
