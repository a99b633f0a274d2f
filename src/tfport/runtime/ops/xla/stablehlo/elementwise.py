"""Element-wise StableHLO ops, with XLA's results at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _divide(x: Any, y: Any) -> Any:
    """Integer division rounds toward zero; division by zero is -1, all bits set."""
    if x.dtype.kind not in "iu":
        return x / y
    nothing = y == 0
    by = np.where(nothing, np.ones_like(y), y)
    if x.dtype.kind == "u":
        return np.where(nothing, np.iinfo(x.dtype).max, x // by)
    overflows = (x == np.iinfo(x.dtype).min) & (by == -1)
    by = np.where(overflows, np.ones_like(by), by)
    quotient = x // by
    quotient = quotient + ((quotient < 0) & (quotient * by != x)).astype(x.dtype)
    return np.where(nothing, np.array(-1, x.dtype), quotient).astype(x.dtype)


def _remainder(x: Any, y: Any) -> Any:
    """The sign of x; x itself if y is zero."""
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    by = np.where((y == 0) | (y == (-1 if x.dtype.kind == "i" else 0)), np.ones_like(y), y)
    return np.where(y == 0, x, np.fmod(x, by)).astype(x.dtype)


def _power(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    raised = np.power(x, np.maximum(y, 0))
    odd = (y & 1).astype(np.bool_)
    below = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)) if x.dtype.kind == "i" else raised
    return np.where(y < 0, below, raised).astype(x.dtype)


def _shift(move: Callable[[Any, Any], Any], fill: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Shifts by more than the number of bits give 0, or the sign."""

    def shifted(x: Any, by: Any) -> Any:
        bits = x.dtype.itemsize * 8
        far = (by < 0) | (by >= bits)
        return np.where(far, fill(x), move(x, np.where(far, 0, by).astype(x.dtype))).astype(x.dtype)

    return shifted


def _unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _logical_right(x: Any, by: Any) -> Any:
    return (_unsigned(x) >> _unsigned(by)).view(x.dtype)


def _popcnt(x: Any) -> Any:
    return np.bitwise_count(_unsigned(np.ascontiguousarray(x))).astype(x.dtype)


def _leading_zeros(x: Any) -> Any:
    bits = x.dtype.itemsize * 8
    value = _unsigned(np.ascontiguousarray(x)).astype(np.uint64)
    zeros = np.full(x.shape, bits)
    for i in range(bits):
        zeros = np.where(value >> np.uint64(i) != 0, bits - 1 - i, zeros)
    return zeros.astype(x.dtype)


def _round_away(x: Any) -> Any:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)


def _logistic(x: Any) -> Any:
    unit = x.dtype.type(1)
    return unit / (unit + np.exp(-x))


def _sign(x: Any) -> Any:
    return np.sign(x)


def _select(on: Any, x: Any, y: Any) -> Any:
    return np.where(on, x, y)


def _and(x: Any, y: Any) -> Any:
    return np.logical_and(x, y) if x.dtype == np.bool_ else np.bitwise_and(x, y)


def _or(x: Any, y: Any) -> Any:
    return np.logical_or(x, y) if x.dtype == np.bool_ else np.bitwise_or(x, y)


def _xor(x: Any, y: Any) -> Any:
    return np.logical_xor(x, y) if x.dtype == np.bool_ else np.bitwise_xor(x, y)


def _not(x: Any) -> Any:
    return np.logical_not(x) if x.dtype == np.bool_ else np.invert(x)


def _add(x: Any, y: Any) -> Any:
    return np.logical_or(x, y) if x.dtype == np.bool_ else x + y


def _multiply(x: Any, y: Any) -> Any:
    return np.logical_and(x, y) if x.dtype == np.bool_ else x * y


def _complex(real: Any, imag: Any) -> Any:
    kind = np.complex128 if real.dtype == np.float64 else np.complex64
    return (real + 1j * imag).astype(kind)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "add": _add, "and": _and, "atan2": np.arctan2, "cbrt": np.cbrt, "ceil": np.ceil,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high), "complex": _complex, "cosine": np.cos,
    "count_leading_zeros": _leading_zeros, "divide": _divide, "exponential": np.exp,
    "exponential_minus_one": np.expm1, "floor": np.floor, "imag": np.imag, "is_finite": np.isfinite,
    "log": np.log, "log_plus_one": np.log1p, "logistic": _logistic, "maximum": np.maximum,
    "minimum": np.minimum, "multiply": _multiply, "negate": np.negative, "not": _not, "or": _or,
    "popcnt": _popcnt, "power": _power, "real": np.real, "remainder": _remainder,
    "round_nearest_afz": _round_away, "round_nearest_even": np.rint,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "select": _select, "shift_left": _shift(np.left_shift, np.zeros_like),
    "shift_right_arithmetic": _shift(np.right_shift, lambda x: np.where(x < 0, -1, 0)),
    "shift_right_logical": _shift(_logical_right, np.zeros_like), "sign": _sign, "sine": np.sin,
    "sqrt": np.sqrt, "subtract": np.subtract, "tan": np.tan, "tanh": np.tanh, "xor": _xor,
}  # fmt: skip
_EQ, _NE, _GE, _GT, _LE, _LT = range(6)
COMPARE: dict[int, Callable[..., Any]] = {
    _EQ: np.equal, _NE: np.not_equal, _GE: np.greater_equal, _GT: np.greater, _LE: np.less_equal,
    _LT: np.less,
}  # fmt: skip
LESS, GREATER = _LT, _GT
TOTAL_ORDER = 2


def compare(x: Any, y: Any, direction: int, kind: int) -> Any:
    if kind == TOTAL_ORDER and x.dtype.kind in "fV":
        x, y = total_order(x), total_order(y)
    return COMPARE[direction](x, y)


def total_order(x: Any) -> Any:
    """Integers in the order of the floats, -0 before 0 and NaN at the ends."""
    bits = np.ascontiguousarray(x, np.float64).view(np.int64).reshape(np.shape(x))
    return np.where(bits < 0, ~bits ^ np.int64(-(2**63)), bits)


def convert(x: Any, kind: Any) -> Any:
    """Floats out of range become the nearest integer, NaN becomes 0."""
    kind = np.dtype(kind)
    if kind == np.bool_:
        return x != 0
    if kind.kind in "iu" and x.dtype.kind in "fV":
        wide = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        limits = np.iinfo(kind)
        inside = np.where((wide >= float(limits.max)) | (wide <= float(limits.min)), 0.0, wide).astype(kind)
        return np.where(
            wide >= float(limits.max), limits.max, np.where(wide <= float(limits.min), limits.min, inside)
        ).astype(kind)
    if x.dtype.kind == "c" and kind.kind != "c":
        x = x.real
    return x.astype(kind)
