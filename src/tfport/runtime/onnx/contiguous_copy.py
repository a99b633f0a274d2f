"""Copy an array whose axes lie in another order: TensorFlow's kernels have channels last, ONNX's first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 1 << 17
"""From so many elements on, they do not fit into the cache."""
ROWS = 8
"""So many rows of the source have room in it while columns are written; twice as fast as all at once."""


def contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if its elements lie in order, otherwise a copy."""
    if array.flags.c_contiguous or array.size < LARGE:
        return np.ascontiguousarray(array)
    copy = np.empty(array.shape, array.dtype)
    by_stride = sorted(range(array.ndim), key=lambda axis: (array.shape[axis] == 1, abs(array.strides[axis])))
    rows = by_stride[1] if array.ndim > 1 else 0
    source, target = np.moveaxis(array, rows, 0), np.moveaxis(copy, rows, 0)
    for start in range(0, len(source), ROWS):
        target[start : start + ROWS] = source[start : start + ROWS]
    return copy
