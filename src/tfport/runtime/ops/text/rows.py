"""Rows of tokens: row splits, and what several texts' tokens are together."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def splits_of(rows: Iterable[Sized], dtype: Any = np.int64) -> NDArray[Any]:
    """The row splits of rows."""
    return np.array([0, *accumulate(map(len, rows))], dtype)
