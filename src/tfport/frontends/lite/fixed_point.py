"""Fixed-point arithmetic of quantized kernels: a real factor as a 31-bit integer and a shift.

Values are int64 arrays that stand for the int32 of the kernels. Products are rounded twice, as the wheels
of TensorFlow and LiteRT are built: first to 31 bits less, halves up; then by the shift, halves away from
zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 31
LARGEST = (1 << BITS) - 1
Integers = Any
"""An int64 array, or one number."""


def quantized_multiplier(real: float) -> tuple[int, int]:
    """A factor as `multiplier * 2 ** (shift - 31)`."""
    if real == 0 or not math.isfinite(real):
        return 0, 0
    fraction, shift = math.frexp(real)
    fixed = int(round_away(fraction * (1 << BITS)))
    if abs(fixed) == 1 << BITS:
        fixed, shift = fixed // 2, shift + 1
    return (fixed, shift) if shift >= -BITS else (0, 0)


def quantized_multipliers(reals: Iterable[float]) -> tuple[list[int], list[int]]:
    """Several factors: their multipliers, and their shifts."""
    pairs = [quantized_multiplier(real) for real in reals]
    return [multiplier for multiplier, _ in pairs], [shift for _, shift in pairs]


def round_away(x: Any) -> Any:
    """The nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0)


def to_int32(x: Integers) -> NDArray[np.int64]:
    """Integers that overflow as int32 does."""
    wrapped: NDArray[np.int64] = np.asarray(x, np.int64).astype(np.int32).astype(np.int64)
    return wrapped


def high_product(x: Integers, y: Integers, bits: int = BITS) -> Any:
    """`x * y / 2**31`, halves up; the one product that is too large saturates."""
    product = (np.asarray(x, np.int64) * y + (1 << (bits - 1))) >> bits
    return np.minimum(product, (1 << bits) - 1)


def divide_by_power(x: Integers, exponent: Integers) -> Any:
    """`x / 2**exponent`, halves away from zero."""
    x, half = np.asarray(x, np.int64), (np.int64(1) << np.asarray(exponent, np.int64)) >> 1
    return np.where(x >= 0, (x + half) >> exponent, -((half - x) >> exponent))


def rescale(x: Integers, multiplier: Integers, shift: Integers) -> Any:
    """`x * multiplier * 2**(shift - 31)`, rounded twice."""
    multiplier, shift = np.asarray(multiplier, np.int64), np.asarray(shift, np.int64)
    shifted = to_int32(np.asarray(x, np.int64) << np.maximum(shift, 0))
    return divide_by_power(high_product(shifted, multiplier), np.maximum(-shift, 0))


def rescale_wide(x: Integers, multiplier: Integers, shift: Integers) -> Any:
    """The same for sums of 64 bits: with a multiplier of 15 bits, rounded once, halves up."""
    multiplier, shift = np.asarray(multiplier, np.int64), np.asarray(shift, np.int64)
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - shift
    return to_int32((np.asarray(x, np.int64) * reduced + (np.int64(1) << (total - 1))) >> total)


def multiply_by_power(x: Integers, exponent: int, bits: int = BITS) -> Any:
    """`x * 2**exponent`; a product that is too large saturates."""
    if exponent < 0:
        return divide_by_power(x, -exponent)
    return np.clip(np.asarray(x, np.int64) << exponent, -(1 << bits), (1 << bits) - 1)
