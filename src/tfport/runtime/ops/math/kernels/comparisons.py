"""Element-wise comparisons, logic, selection, and ops on bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import MANY, differ


@host("Equal")
def equal(x, y, *, incompatible_shape_error):
    if not incompatible_shape_error and not _broadcasts(x, y):
        return np.array(False)
    if _are_many_strings(x, y):
        return ~differ(x, y[()])
    return np.equal(x, y).astype(bool, copy=False)


@host("NotEqual")
def not_equal(x, y, *, incompatible_shape_error):
    if not incompatible_shape_error and not _broadcasts(x, y):
        return np.array(True)
    if _are_many_strings(x, y):
        return differ(x, y[()])
    return np.not_equal(x, y).astype(bool, copy=False)


def _are_many_strings(x: Any, y: Any) -> bool:
    """Whether many strings are compared with one."""
    return x.dtype.kind == "O" and not y.ndim and x.size > MANY


def _broadcasts(x: Any, y: Any) -> bool:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


@host("Less")
def less(x, y):
    return np.less(x, y)


@host("LessEqual")
def less_equal(x, y):
    return np.less_equal(x, y)


@host("Greater")
def greater(x, y):
    return np.greater(x, y)


@host("GreaterEqual")
def greater_equal(x, y):
    return np.greater_equal(x, y)


@host("LogicalAnd")
def logical_and(x, y):
    return np.logical_and(x, y)


@host("LogicalOr")
def logical_or(x, y):
    return np.logical_or(x, y)


@host("Select")
def select(condition, t, e):
    """The condition is a scalar, has the shape of both inputs, or selects whole rows."""
    if not isinstance(t, np.ndarray):
        return _one_of(condition, t, e)
    if t.shape != e.shape:
        raise RunFailed(f"t and e must have the same shape, found {list(t.shape)} and {list(e.shape)}")
    if condition.ndim == 1 and t.ndim > 1 and condition.shape == t.shape[:1]:
        condition = condition.reshape(-1, *[1] * (t.ndim - 1))
    elif condition.ndim and condition.shape != t.shape:
        raise RunFailed(f"a condition of shape {list(condition.shape)} does not fit shape {list(t.shape)}")
    return np.where(condition, t, e)


@host("SelectV2")
def select_v2(condition, t, e):
    return np.where(condition, t, e) if isinstance(t, np.ndarray) else _one_of(condition, t, e)


def _one_of(condition: Any, t: Any, e: Any) -> Any:
    """Select one of two resources or variants, which are not arrays."""
    if condition.ndim:
        raise RunFailed(
            "the condition must be a scalar to select between resources or variants, "
            f"found shape {list(condition.shape)}"
        )
    return t if condition else e


# Bits


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
