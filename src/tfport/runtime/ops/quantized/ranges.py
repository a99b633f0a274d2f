"""Conversion between floats and quantized integers within a range.

The names follow TensorFlow's quantization utilities, which round in different ways. Here
floats become integers relative to the lowest one ("min first"), with the lower end of the
range moved to a whole step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed


def limits(dtype: Any) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def scalar(array: Any, what: str = "a range") -> np.float32:
    if array.size != 1:
        raise RunFailed(f"{what} must be a scalar, found shape {list(array.shape)}")
    return np.float32(array.reshape(-1)[0])


def scalars(low: Any, high: Any) -> tuple[np.float32, np.float32]:
    """The ends of a range."""
    return scalar(low), scalar(high)


def round_away(x: Any) -> Any:
    """Round to the nearest integer, halves away from zero."""
    wide = np.asarray(x, np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)


def _steps(dtype: Any) -> int:
    return 1 << int(np.dtype(dtype).itemsize) * 8


def to_float(q: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Dequantize integers of a type."""
    low, high = np.float32(low), np.float32(high)
    if low == high:
        return np.full(np.shape(q), low, np.float32)
    scale = float(high - low) / (_steps(dtype) - 1.0)
    start = float(round_away(low / np.float32(scale))) * float(np.float32(scale))
    return (start + (np.asarray(q, np.float64) - limits(dtype)[0]) * scale).astype(np.float32)


def from_float_unclamped(x: Any, low: Any, high: Any, dtype: Any) -> Any:
    lowest = limits(dtype)[0]
    low, high = np.float32(low), np.float32(high)
    if low == high:
        return np.full(np.shape(x), lowest, np.int64)
    steps = _steps(dtype)
    scale = steps / (float(high - low) * (steps / (steps - 1.0)))
    whole = round_away(np.asarray(x, np.float64) * scale) - round_away(float(low) * scale)
    return whole.astype(np.int64) + lowest


def from_float(x: Any, low: Any, high: Any, dtype: Any) -> Any:
    return np.clip(from_float_unclamped(x, low, high, dtype), *limits(dtype)).astype(dtype)


def zero_of(low: Any, high: Any, dtype: Any) -> int:
    """The integer that represents zero."""
    return int(from_float_unclamped(np.float32(0), low, high, dtype))


def to_float_fast(q: Any, low: Any, high: Any, dtype: Any) -> Any:
    """`to_float` as TensorFlow computes it for whole tensors, in float32."""
    low, high = np.float32(low), np.float32(high)
    scale = np.float32((float(high) - float(low)) / (_steps(dtype) - 1.0))
    start = low if low == high else np.float32(round_away(low / scale)) * scale
    offset = np.asarray(q).astype(np.float32) - np.float32(limits(dtype)[0])
    return offset * scale + start


def from_float_fast(x: Any, low: Any, high: Any, dtype: Any) -> Any:
    """`from_float` as TensorFlow computes it for whole tensors, in float32."""
    low, high = np.float32(low), np.float32(high)
    scale = np.float32(0) if low == high else np.float32((_steps(dtype) - 1.0) / (float(high) - float(low)))
    lowest, highest = limits(dtype)
    start = np.float32(round_away(low * scale))
    whole = round_away(x * scale).astype(np.float32) - (start - np.float32(lowest))
    top = np.float32(highest) if highest < 1 << 24 else np.nextafter(np.float32(highest), np.float32(0))
    return np.clip(whole, np.float32(lowest), top).astype(dtype)


def product_range(a: Any, b: Any, a_type: Any, b_type: Any, out: Any) -> tuple[np.float32, np.float32]:
    """The range of a product, of pairs (low, high)."""
    step = np.float32(1)
    for (low, high), dtype in ((a, a_type), (b, b_type)):
        lowest, highest = limits(dtype)
        step = step * np.float32(
            (np.float32(high) - np.float32(low)) / np.float32(float(highest) - float(lowest))
        )
    lowest, highest = limits(out)
    return step * np.float32(lowest), step * np.float32(highest)


def sum_range(*ends: Any, spare_bits: int = 14) -> tuple[np.float32, np.float32]:
    """The range of a sum: symmetric, with room for many terms."""
    most = np.float32(max(abs_end for low, high in ends for abs_end in (-low, high)) * (1 << spare_bits))
    return -most, most


def check_range(low: Any, high: Any) -> None:
    if not low <= high:
        raise RunFailed(f"a range must not decrease, found {low} to {high}")
