"""LOGISTIC and TANH of int16, which kernels interpolate in one table of sigmoid(i / 24)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS_PER_UNIT = 24


def _samples() -> NDArray[np.int64]:
    """sigmoid(i / 24) in 16 bits, moved so that the error in the middle of a step is halved."""
    index = np.arange(256)
    here, middle, after = (_sigmoid(index + offset) for offset in (0, 0.5, 1))
    samples: NDArray[np.int64] = np.floor(here + (middle - (here + after) / 2) / 2 + 0.5).astype(np.int64)
    samples[-1] = 65535
    return samples


def _sigmoid(index: Any) -> Any:
    return 65536 / (1 + np.exp(-index / STEPS_PER_UNIT))


def logistic_of_int16(scale: np.float32) -> NDArray[np.int16]:
    """The results for all values of int16 with a scale."""
    x = _scaled_input(scale, most_left=0)
    size, samples = np.abs(x), _samples()
    high, low = np.minimum(size >> 9, 254), size & 0x1FF
    inner = (samples[high] << 9) + low * (samples[high + 1] - samples[high])
    result = np.where(size >> 9 >= 255, 0x7FFF << 10, inner)
    result = np.where(x >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1)
    return (result >> 10).astype(np.int16)


def tanh_of_int16(scale: np.float32) -> NDArray[np.int16]:
    """The results for all values of int16 with a scale."""
    x = _scaled_input(scale, most_left=1)
    size, samples = np.abs(x), _samples()
    high, low = np.minimum(size >> 8, 254), size & 0xFF
    inner = (samples[high] << 8) + low * (samples[high + 1] - samples[high])
    result = np.where(size >> 8 >= 255, 0xFFFF << 8, inner)
    centered = np.where(x >= 0, result - (1 << 23) + (1 << 7), -result + (1 << 23) + (1 << 7) - 1)
    return (centered >> 8).astype(np.int16)


def _scaled_input(scale: np.float32, most_left: int) -> NDArray[np.int64]:
    """All values of int16 in steps of 1 / (3 * 4096)."""
    values = np.arange(-32768, 32768, dtype=np.int64)
    log = math.log2(scale)
    left = 12 + round(log)
    if abs(log - round(log)) < 1e-3 and 0 <= left <= most_left:
        return values * (3 << left)
    multiplier, shift = float(scale) * 4096 * 3, 0
    while multiplier <= 32767 / 2 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return (values * int(multiplier) + ((1 << shift) >> 1)) >> shift
