"""Results of StableHLO ops whose operands are constants: sizes, indices, decisions.

`evaluate(hlo, arrays)` computes them in NumPy, with XLA's results at the edges. A program is not run
here: what depends on its inputs becomes nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.formats.stablehlo.vhlo import HloOp

TOTAL_ORDER = 2
"""The type of comparison that orders -0 before 0, and NaN."""


def evaluate(hlo: HloOp, operands: Sequence[Any]) -> Any | None:
    """The result of an op; None if it is not among those that are computed in advance."""
    if (elementwise := ELEMENTWISE.get(hlo.name)) is not None:
        return elementwise(*operands)
    moves = MOVES.get(hlo.name)
    return None if moves is None else moves(hlo, *operands)


def integers(value: Any) -> list[int]:
    """An attribute or operand of integers."""
    return [int(n) for n in np.asarray(value).reshape(-1)]


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
    dtype = np.complex128 if real.dtype == np.float64 else np.complex64
    return (real + 1j * imag).astype(dtype)


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
COMPARISONS = (np.equal, np.not_equal, np.greater_equal, np.greater, np.less_equal, np.less)


def _compare(hlo: HloOp, x: Any, y: Any) -> Any:
    if hlo.attrs.get("compare_type", 0) == TOTAL_ORDER and x.dtype.kind in "fV":
        x, y = _total_order(x), _total_order(y)
    return COMPARISONS[hlo.attrs["comparison_direction"]](x, y)


def _total_order(x: Any) -> Any:
    """Integers in the order of the floats, -0 before 0 and NaN at the ends."""
    bits = np.ascontiguousarray(x, np.float64).view(np.int64).reshape(np.shape(x))
    return np.where(bits < 0, ~bits ^ np.int64(-(2**63)), bits)


def _convert(hlo: HloOp, x: Any) -> Any:
    """Floats out of range become the nearest integer, NaN becomes 0."""
    dtype = np.dtype(hlo.types[0].element)
    if dtype == np.bool_:
        return x != 0
    if dtype.kind in "iu" and x.dtype.kind in "fV":
        wide = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        limits = np.iinfo(dtype)
        above, below = wide >= float(limits.max), wide <= float(limits.min)
        inside = np.where(above | below, 0.0, wide).astype(dtype)
        return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(dtype)
    return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)


def _bitcast(hlo: HloOp, x: Any) -> Any:
    """If the widths differ, the narrower type has an extra axis."""
    dtype = np.dtype(hlo.types[0].element)
    x = np.ascontiguousarray(x)
    if dtype.itemsize == x.dtype.itemsize:
        return x.reshape(-1).view(dtype).reshape(x.shape)
    return x[..., None].view(dtype) if dtype.itemsize < x.dtype.itemsize else x.view(dtype)[..., 0]


def _broadcast(hlo: HloOp, x: Any, shape: Any) -> Any:
    sizes, axes = integers(shape), integers(hlo.attrs["broadcast_dimensions"])
    spread = [1] * len(sizes)
    for axis, size in zip(axes, x.shape, strict=True):
        spread[axis] = size
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return np.broadcast_to(x.transpose(order).reshape(spread), sizes)


def _sliced(hlo: HloOp, x: Any, *bounds: Any) -> Any:
    names = ("start_indices", "limit_indices", "strides")
    spans = zip(*map(integers, bounds or (hlo.attrs[name] for name in names)), strict=True)
    return x[tuple(slice(*span) for span in spans)]


def _sliced_at(hlo: HloOp, x: Any, *starts: Any) -> Any:
    sizes = integers(hlo.attrs["slice_sizes"])
    firsts = [min(max(int(at), 0), n - size) for at, n, size in zip(starts, x.shape, sizes, strict=True)]
    return x[tuple(slice(at, at + size) for at, size in zip(firsts, sizes, strict=True))]


MOVES: dict[str, Callable[..., Any]] = {
    "bitcast_convert": _bitcast, "compare": _compare, "convert": _convert,
    "concatenate": lambda hlo, *parts: np.concatenate(parts, hlo.attrs["dimension"]),
    "dynamic_broadcast_in_dim": _broadcast, "dynamic_slice": _sliced_at,
    "dynamic_reshape": lambda hlo, x, shape: x.reshape(integers(shape)),
    "get_dimension_size": lambda hlo, x: np.array(x.shape[hlo.attrs["dimension"]], np.int32),
    "real_dynamic_slice": _sliced, "slice": _sliced,
    "reshape": lambda hlo, x: x.reshape(hlo.types[0].shape),
    "reverse": lambda hlo, x: np.flip(x, tuple(integers(hlo.attrs["dimensions"]))),
    "transpose": lambda hlo, x: x.transpose(integers(hlo.attrs["permutation"])),
}  # fmt: skip
"""Ops that compare, convert or move elements."""
