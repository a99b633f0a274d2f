"""Arrays that several families build: vectors of strings and concatenated ranges."""

from __future__ import annotations

from typing import Any

import numpy as np


def strings_array(values: list[bytes]) -> Any:
    """A vector of strings; NumPy itself would drop trailing zero bytes."""
    out = np.empty(len(values), object)
    out[:] = values
    return out


def expand_ranges(start: Any, counts: Any, step: int) -> Any:
    """Concatenate the ranges `start[i]`, `start[i] + step`, … of `counts[i]` elements each."""
    if len(counts) and (counts == counts[0]).all():
        return (start[:, None] + np.arange(counts[0]) * step).reshape(-1)
    before = np.cumsum(counts) - counts
    return np.repeat(start - before * step, counts) + np.arange(counts.sum()) * step
