"""Compare many strings with one, where most are the same object.

Padding is one object many times, so its addresses are compared first; only strings at other addresses are
compared byte by byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = 64
"""From more strings than this on it is faster than comparing all of them."""


def differ(strings: NDArray[Any], other: bytes) -> NDArray[np.bool_]:
    """Whether each string differs from another one."""
    flat = np.ascontiguousarray(strings).reshape(-1)
    marked: NDArray[np.bool_] = np.frombuffer(flat, np.intp) != id(other)
    elsewhere = np.flatnonzero(marked)
    marked[elsewhere] = flat[elsewhere] != other
    return marked.reshape(strings.shape)
