"""Row splits: offsets that partition values into rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.shared.arrays import expand_ranges

FEW = 16
"""Up to this many offsets are compared one by one: NumPy's calls take longer."""


def check_splits(splits: Any, count: int) -> None:
    """Raise unless the splits partition `count` values into rows."""
    if splits.ndim == 1 and len(splits) <= FEW:
        numbers = splits.tolist()
        if numbers and numbers[0] == 0 and numbers[-1] == count and numbers == sorted(numbers):
            return
    if splits.ndim != 1 or not len(splits) or splits[0] != 0 or splits[-1] != count:
        raise RunFailed(f"row splits must start at 0 and end at {count}, found {excerpt(splits)}")
    if (splits[1:] < splits[:-1]).any():
        raise RunFailed(f"row splits must not decrease, found {excerpt(splits)}")


def check_nested_splits(nested: Sequence[Any], count: int) -> None:
    """Raise unless each level partitions the rows of the next, and the last one `count` values."""
    totals = [len(splits) - 1 for splits in nested[1:]] + [count]
    for splits, total in zip(nested, totals, strict=True):
        check_splits(splits, total)


def excerpt(numbers: Any) -> str:
    """A vector as text, shortened."""
    flat = numbers.reshape(-1).tolist()
    return str(flat if len(flat) < 9 else [*flat[:4], "…", *flat[-2:]])


def within_rows(lengths: Any) -> Any:
    """The position of each element in its row."""
    return expand_ranges(np.zeros(len(lengths), np.int64), lengths, 1)
