"""Arrays that several families build: vectors of strings and concatenated ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def string_array(values: Sequence[bytes], shape: Sequence[int] | None = None) -> NDArray[Any]:
    """An object array of bytes, by default a vector; NumPy itself would drop trailing zero bytes."""
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(tuple(shape))


def expand_ranges(start: Any, counts: Any, step: int) -> Any:
    """Concatenate the ranges `start[i]`, `start[i] + step`, … of `counts[i]` elements each."""
    if len(counts) and (counts == counts[0]).all():
        return (start[:, None] + np.arange(counts[0]) * step).reshape(-1)
    before = np.cumsum(counts) - counts
    return np.repeat(start - before * step, counts) + np.arange(counts.sum()) * step
