"""A few indices are handled one by one: the same answers and the same refusals as for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.runtime.ops.sparse import coordinates
from tfport.runtime.ops.sparse.kernels.dense import sparse_to_dense
from tfport.runtime.ops.sparse.kernels.layout import sparse_reshape
from tfport.runtime.ops.sparse.kernels.row_ops import filled_rows, sparse_fill_empty_rows

CASES = [
    ([[0, 0]], [1, 1], [1]),
    ([[0, 2], [1, 0], [3, 1]], [4, 3], [2, -1]),
    ([[0, 1, 1], [1, 0, 0]], [2, 2, 2], [8]),
    ([[1, 0]], [2, 3], [-1, 2]),
    ([[3], [5]], [6], [2, 3]),
    ([[1, 1], [0, 0]], [2, 2], [4]),
    ([[2, 0]], [2, 3], [6]),
    ([[0, -1]], [2, 3], [6]),
]


def outcome(call: Any) -> Any:
    try:
        return [array.tolist() for array in call()]
    except RunFailed as error:
        return str(error)


@pytest.mark.parametrize(("rows", "dims", "new"), CASES)
def test_a_few_indices_give_what_many_do(
    rows: list[list[int]], dims: list[int], new: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    indices, shape = np.array(rows, np.int64), np.array(dims, np.int64)
    values, default = np.arange(1, len(rows) + 1, dtype=np.float32), np.float32(0)

    def outcomes() -> list[Any]:
        return [
            outcome(lambda: sparse_to_dense(indices, shape, values, default, validate_indices=True)),
            outcome(lambda: sparse_reshape(indices, shape, np.array(new, np.int64))),
        ]

    few = outcomes()
    monkeypatch.setattr(coordinates, "FEW", 0)
    assert few == outcomes()


@pytest.mark.parametrize("rows", [[0, 0, 1, 2], [0, 1, 2], [], [2, 0, 1], [0, 2], [1, 2], [0, 0, 1]])
def test_rows_are_filled_alike_in_each_order(rows: list[int]) -> None:
    count = 3
    indices = np.array([[row, at] for at, row in enumerate(rows)], np.int64).reshape(-1, 2)
    values = np.arange(10, 10 + len(rows))
    shape, default = np.array([count, 9], np.int64), np.int64(7)
    made, flat, empty, back = sparse_fill_empty_rows(indices, values, shape, default)

    from_input, into, row_of, expected = filled_rows(indices[:, 0], count)
    assert empty.tolist() == expected.tolist()
    assert made[:, 0].tolist() == row_of.tolist()
    assert flat[into].tolist() == values[from_input].tolist()
    assert made[into].tolist() == indices[from_input].tolist()
    assert back[from_input].tolist() == into.tolist()
    rest = np.setdiff1d(np.arange(len(row_of)), into)
    assert flat[rest].tolist() == [7] * len(rest)
    assert made[rest, 1].tolist() == [0] * len(rest)
