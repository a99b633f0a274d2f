"""Other inputs to compare two engines on: what agrees on one image may differ on the next.

They have the sizes of those of a call, and their numbers in another order or range: reversed; sorted, so that
neighbors are alike; and with a mean of 0 and a deviation of 1. Integers stay, as they may be indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


def trial_inputs(arrays: Sequence[Any]) -> Iterator[list[Any]]:
    """Variations of the inputs of a call; none if there are no floats."""
    if any(array.dtype.kind == "f" for array in arrays):
        for change in (_reversed, _sorted, _standardized):
            yield [change(array) if array.dtype.kind == "f" else array for array in arrays]


def _reversed(array: Any) -> Any:
    return np.ascontiguousarray(array.ravel()[::-1]).reshape(array.shape)


def _sorted(array: Any) -> Any:
    return np.sort(array, axis=None).reshape(array.shape)


def _standardized(array: Any) -> Any:
    wide = array.astype(np.float64)
    return ((wide - wide.mean()) / (wide.std() or 1)).astype(array.dtype)
