"""The type to compute in: TensorFlow widens narrow floats to float32 and rounds the result once."""

from __future__ import annotations

from typing import Any

import numpy as np

NARROW = frozenset(["float16", "bfloat16"])


def wide_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 for narrow floats, any other type as it is."""
    return np.dtype(np.float32) if _is_narrow(dtype) else dtype


def widen(array: Any) -> Any:
    """The array in the type to compute in; not copied if it has that type already."""
    return array.astype(np.float32) if _is_narrow(array.dtype) else array


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize == 2 and dtype.name in NARROW  # the size first: NumPy computes the name


def sigmoid(x: Any) -> Any:
    """The logistic function, with a small relative error also where it is tiny."""
    # exp overflows only where the result is less than the smallest normal number: it becomes zero
    return 1 / (1 + np.exp(-x))
