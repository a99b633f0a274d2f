"""Functions in fixed point that kernels of TensorFlow Lite take from gemmlowp.

A number with n integer bits is an integer divided by 2**(31 - n). Constants are those of the published
algorithms: Newton-Raphson for 1 / x from 48/17 - 32/17 x, and a polynomial for exp near -1/8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.lite.fixed_point import LARGEST, divide_by_power, high_product, multiply_by_power

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORTY_EIGHT_17THS = 1515870810
"""48 / 17 with two integer bits."""
THIRTY_TWO_17THS = -1010580540
"""-32 / 17 with two integer bits."""
ONE_OF_2_BITS = 1 << 29
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


def reciprocal(x: Any, integer_bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """1 / x as a number without integer bits, and by how many bits x is over one."""
    x = np.asarray(x, np.int64)
    headroom = 32 - np.frexp(x.astype(np.float64))[1].astype(np.int64)
    return one_over_one_plus((x << headroom) - (1 << 31)), integer_bits - headroom


def one_over_one_plus(x: Any) -> Any:
    """1 / (1 + x) for x from 0 to 1."""
    half = (np.asarray(x, np.int64) + LARGEST + 1) // 2
    estimate = FORTY_EIGHT_17THS + high_product(half, THIRTY_TWO_17THS)
    for _ in range(3):
        rest = ONE_OF_2_BITS - high_product(half, estimate)
        estimate = estimate + multiply_by_power(high_product(estimate, rest), 2)
    return multiply_by_power(estimate, 1)


def exp_of_negative(x: Any, integer_bits: int) -> Any:
    """exp of numbers up to 0, with no integer bits."""
    x = np.asarray(x, np.int64)
    fraction = 31 - integer_bits
    quarter = 1 << (fraction - 2)
    rest = (x & (quarter - 1)) - quarter
    result = _exp_near_zero(multiply_by_power(rest, integer_bits))
    whole = rest - x
    for power, factor in POWERS:
        if power < integer_bits:
            bit = (whole >> (fraction + power)) & 1
            result = np.where(bit == 1, high_product(result, factor), result)
    return np.where(x == 0, LARGEST, result)


def _exp_near_zero(x: Any) -> Any:
    """exp of numbers from -1/4 to 0: a polynomial around -1/8."""
    x = x + (1 << 28)
    square = high_product(x, x)
    cube, fourth = high_product(square, x), high_product(square, square)
    higher = high_product(divide_by_power(fourth, 2) + cube, THIRD) + square
    return EXP_EIGHTH + high_product(EXP_EIGHTH, x + divide_by_power(higher, 1))


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
