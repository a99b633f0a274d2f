"""Bitwise ops and shifts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.lower import host


@host("BitwiseAnd")
def bitwise_and(x, y):
    return np.bitwise_and(x, y)


@host("BitwiseOr")
def bitwise_or(x, y):
    return np.bitwise_or(x, y)


@host("BitwiseXor")
def bitwise_xor(x, y):
    return np.bitwise_xor(x, y)


@host("Invert")
def invert(x):
    return np.invert(x)


@host("LeftShift")
def left_shift(x, y):
    return np.left_shift(x, _shift(x, y))


@host("RightShift")
def right_shift(x, y):
    return np.right_shift(x, _shift(x, y))


def _shift(x: Any, y: Any) -> Any:
    """TensorFlow clips shifts to [0, bits - 1]."""
    return np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype)


@host("PopulationCount")
def population_count(x):
    return np.bitwise_count(np.atleast_1d(x).view(f"u{x.dtype.itemsize}")).reshape(x.shape)
