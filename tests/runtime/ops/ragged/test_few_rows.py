"""A few ranges and rows are handled one by one: the same answers and refusals as for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.graph.dtypes import INT32, INT64
from tfport.runtime.ops.ragged.kernels import ranges, row_splits
from tfport.runtime.ops.ragged.kernels.ranges import ragged_range
from tfport.runtime.ops.ragged.kernels.row_splits import ragged_gather, ragged_tensor_to_tensor
from tfport.runtime.ops.ragged.splits import check_splits

BOUNDS = [
    ([0], [21], 1),
    ([0, 5, 3], [4, 5, 9], [2, 1, 4]),
    ([9, 0], [2, 3], [-3, -1]),
    (4, 9, 2),
    ([], [], []),
    ([0, 1], [3, 4], [1, 0]),
    ([-(2**31)], [2**31 - 1], 1 << 30),
    ([0, 0], [90, 90], 1),
]


def outcome(call: Any) -> Any:
    try:
        splits, values = call()
    except RunFailed as error:
        return str(error)
    nested = splits if isinstance(splits, list) else [splits]
    return [array.tolist() for array in nested], values.tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_few_ranges_are_those_of_many(
    bounds: tuple[Any, ...], kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = [np.array(bound, kind) for bound in bounds]
    few = outcome(lambda: ragged_range(*arrays, Tsplits=INT64))
    monkeypatch.setattr(ranges, "FEW", -1)
    assert few == outcome(lambda: ragged_range(*arrays, Tsplits=INT64))


def test_too_many_elements_are_refused() -> None:
    arrays = [np.array(bound, np.int64) for bound in ([0], [2**40], 1)]
    assert "too many elements" in outcome(lambda: ragged_range(*arrays, Tsplits=INT64))
    arrays = [np.array(bound, np.int64) for bound in ([0], [2**31], 1)]
    assert "too many elements" in outcome(lambda: ragged_range(*arrays, Tsplits=INT32))


@pytest.mark.parametrize("indices", [[0, 1, 2], [0, 1], [2, 1, 0], [1, 1, 1], [0], [], [3]])
def test_all_rows_are_gathered_as_any_rows(indices: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    splits, values = [np.array([0, 1, 4, 6])], np.array(list("abcdef"), object)
    at = np.array(indices, np.int64)

    def gathered() -> Any:
        return outcome(lambda: ragged_gather(splits, values, at, OUTPUT_RAGGED_RANK=1))

    few = gathered()
    monkeypatch.setattr(row_splits, "FEW", -1)
    assert few == gathered()


@pytest.mark.parametrize("splits", [[], [1, 3], [0, 2], [0, 3, 2, 3]])
def test_splits_that_do_not_partition_are_refused(splits: list[int]) -> None:
    with pytest.raises(RunFailed, match="row splits must"):
        check_splits(np.array(splits, np.int64), 3)


@pytest.mark.parametrize("splits", [[0, 3], [0, 2, 4], [0, 2, 3], [0, 0], [0, 0, 0], [0, 1, 1], [0, 1, 2, 3]])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_equal_rows_need_no_padding(monkeypatch: pytest.MonkeyPatch, splits: list[int], count: int) -> None:
    def made() -> Any:
        values, default = np.arange(1, 1 + count * 2).reshape(count, 2), np.array(0)
        try:
            dense = ragged_tensor_to_tensor(
                np.array(-1), values, default, [np.array(splits)], row_partition_types=["ROW_SPLITS"]
            )
        except RunFailed as error:
            return str(error)
        return dense.shape, dense.tolist()

    quick = made()
    monkeypatch.setattr(row_splits, "_equal_rows", lambda *args: None)
    assert quick == made()
