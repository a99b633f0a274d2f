"""Fixed-point arithmetic of quantized kernels: a real factor as a 31-bit integer and a shift.

Values are int64 arrays that stand for the int32 of the kernels. Products are rounded twice, as the wheels
of TensorFlow and LiteRT are built: first to 31 bits less, halves up; then by the shift, halves away from
zero.

The functions are those that the kernels take from gemmlowp. A number with n integer bits is an integer
divided by 2**(31 - n). Constants are those of the published algorithms: Newton-Raphson for 1 / x from
48/17 - 32/17 x, and a polynomial for exp near -1/8.
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


# Functions

FORTY_EIGHT_17THS = 1515870810
"""48 / 17 with two integer bits."""
THIRTY_TWO_17THS = -1010580540
"""-32 / 17 with two integer bits."""
EXP_EIGHTH = 1895147668
"""exp(-1/8)."""
THIRD = 715827883
ONE_AND_HALF = (1 << 28) + (1 << 27)
"""1.5 with three integer bits."""
HALF_SQRT_2 = 1518500250
POWERS = (
    (-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242),
)  # fmt: skip
"""exp(-2**n) for each n."""
TANH_BITS = range(7)
"""The integer bits of an LSTM's cell that the kernels have tanh for. With others, such as those of cells
below 1/2, they multiply the output gate by what is left where tanh would be: the input gate."""


def reciprocal(x: Any, integer_bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """1 / x as a number without integer bits, and by how many bits x is over one."""
    x = np.asarray(x, np.int64)
    headroom = 32 - np.frexp(x.astype(np.float64))[1].astype(np.int64)
    return one_over_one_plus((x << headroom) - (1 << 31)), integer_bits - headroom


def one_over_one_plus(x: Any, bits: int = BITS) -> Any:
    """1 / (1 + x) for x from 0 to 1."""
    return multiply_by_power(_twice_inverse(x, bits), 1, bits)


def one_minus_over_one_plus(x: Any, bits: int = BITS) -> Any:
    """(1 - x) / (1 + x) for x from 0 to 1."""
    return multiply_by_power(_twice_inverse(x, bits) - (1 << (bits - 2)), 2, bits)


def _twice_inverse(x: Any, bits: int) -> Any:
    """2 / (1 + x) with two integer bits."""
    half = (np.asarray(x, np.int64) + (1 << bits)) // 2
    estimate = _constant(FORTY_EIGHT_17THS, bits) + high_product(
        half, _constant(THIRTY_TWO_17THS, bits), bits
    )
    for _ in range(3):
        rest = (1 << (bits - 2)) - high_product(half, estimate, bits)
        estimate = estimate + multiply_by_power(high_product(estimate, rest, bits), 2, bits)
    return estimate


def _constant(value: int, bits: int) -> int:
    """A constant of 31 bits with fewer bits."""
    return int(divide_by_power(value, BITS - bits))


def exp_of_negative(x: Any, integer_bits: int, bits: int = BITS) -> Any:
    """exp of numbers up to 0, with no integer bits."""
    x = np.asarray(x, np.int64)
    fraction = bits - integer_bits
    quarter = 1 << (fraction - 2)
    rest = (x & (quarter - 1)) - quarter
    result = _exp_near_zero(multiply_by_power(rest, integer_bits, bits), bits)
    whole = rest - x
    for power, factor in POWERS:
        if power < integer_bits:
            bit = (whole >> (fraction + power)) & 1
            result = np.where(bit == 1, high_product(result, _constant(factor, bits), bits), result)
    if integer_bits > 5:
        result = np.where(x < -(32 << fraction), 0, result)
    return np.where(x == 0, (1 << bits) - 1, result)


def _exp_near_zero(x: Any, bits: int) -> Any:
    """exp of numbers from -1/4 to 0: a polynomial around -1/8."""
    x = x + (1 << (bits - 3))
    square = high_product(x, x, bits)
    cube, fourth = high_product(square, x, bits), high_product(square, square, bits)
    higher = high_product(divide_by_power(fourth, 2) + cube, _constant(THIRD, bits), bits) + square
    start = _constant(EXP_EIGHTH, bits)
    return np.minimum(start + high_product(start, x + divide_by_power(higher, 1), bits), (1 << bits) - 1)


def logistic_of_16_bits(x: Any, integer_bits: int) -> Any:
    """The logistic function of 16-bit numbers, with no integer bits."""
    x = np.asarray(x, np.int64)
    positive = one_over_one_plus(exp_of_negative(-np.abs(x), integer_bits, 15), 15)
    return np.where(x == 0, 1 << 14, np.where(x > 0, positive, (1 << 15) - 1 - positive))


def tanh_of_16_bits(x: Any, integer_bits: int) -> Any:
    """tanh of 16-bit numbers, with no integer bits."""
    x = np.asarray(x, np.int64)
    size = one_minus_over_one_plus(exp_of_negative(-np.abs(x), integer_bits + 1, 15), 15)
    return np.where(x == 0, 0, np.where(x > 0, size, -size))


def inverse_sqrt(x: int) -> tuple[int, int]:
    """1 / sqrt(x) as a multiplier and a shift."""
    if x <= 1:
        return LARGEST, 0
    right = 11
    while x >= 1 << 29:
        x, right = x // 4, right + 1
    pairs = (31 - x.bit_length()) // 2 - 1
    right, x = right - pairs, x << (2 * pairs)
    value = x >> 1
    half = int(divide_by_power(value, 1))
    root = 1 << 28
    for _ in range(5):
        cube = multiply_by_power(high_product(high_product(root, root), root), 6)
        root = int(multiply_by_power(high_product(ONE_AND_HALF, root) - high_product(half, cube), 3))
    root = int(high_product(root, HALF_SQRT_2))
    return (root << -right, 0) if right < 0 else (root, -right)
