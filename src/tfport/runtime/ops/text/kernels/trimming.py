"""RoundRobinTrim and RoundRobinGenerateMasks: segments shortened in turn, until they fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits, within_rows
from tfport.runtime.ops.strings.byte_strings import scalar_value

if TYPE_CHECKING:
    from numpy.typing import NDArray


@host("TFText>RoundRobinTrim")
def round_robin_trim(max_sequence_length, input_values, input_row_splits):
    masks, kept = _masks(max_sequence_length, input_values, input_row_splits)
    return (
        [values[mask] for values, mask in zip(input_values, masks, strict=True)],
        [
            np.concatenate([[0], np.cumsum(lengths)]).astype(splits.dtype)
            for lengths, splits in zip(kept.T, input_row_splits, strict=True)
        ],
    )


@host("TFText>RoundRobinGenerateMasks")
def round_robin_masks(max_sequence_length, input_values, input_row_splits):
    return (_masks(max_sequence_length, input_values, input_row_splits)[0],)


def _masks(limit: Any, values: Sequence[Any], splits: Sequence[Any]) -> tuple[list[Any], NDArray[Any]]:
    """Whether each value of each segment is kept, and how many of each row are."""
    length = int(scalar_value(limit, "max_sequence_length"))
    for each, of_rows in zip(values, splits, strict=True):
        check_splits(of_rows, len(each))
        if len(of_rows) != len(splits[0]):
            raise RunFailed("all segments must have the same number of rows")
    sizes = np.stack([np.diff(of_rows) for of_rows in splits], 1).astype(np.int64)
    if sizes.shape[1] == 1 and length >= 0:
        kept = np.minimum(sizes, length)
    else:
        kept = np.array([_kept(row, length) for row in sizes.tolist()], np.int64).reshape(sizes.shape)
    return [
        within_rows(lengths) < np.repeat(used, lengths) for lengths, used in zip(sizes.T, kept.T, strict=True)
    ], kept


def _kept(sizes: list[int], left: int) -> list[int]:
    """How much of each segment of a row is kept: the shortest ones whole, then equal parts of the others."""
    used = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    whole = 0
    for at in order:
        if sizes[at] * (len(sizes) - whole) > left:
            break
        used[at] = sizes[at]
        left -= sizes[at]
        whole += 1
    if rest := order[whole:]:
        part = int(left / len(rest))
        for at in rest:
            used[at] = part
            left -= part
    for at, size in enumerate(sizes):
        if left > 0 and used[at] < size:
            used[at] += 1
            left -= 1
    return used
