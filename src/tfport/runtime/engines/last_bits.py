"""Numbers with their last bit changed: as far from what they were as rounding once would move them."""

from __future__ import annotations

from typing import Any

import numpy as np


def next_to(array: Any, seed: int) -> Any:
    """Floats with their last bit changed, up or down: in turn, the changes of neighbors might cancel out.

    A single number stays: it may be a setting that sizes depend on.
    """
    if array.dtype.kind != "f" or array.size == 1:
        return array
    up = np.random.default_rng(seed).integers(2, size=array.shape, dtype=np.int8)
    return np.nextafter(array, np.where(up, np.inf, -np.inf).astype(array.dtype))
