"""Tables of functions of one quantized tensor, as the kernels of TensorFlow Lite fill them.

The entry of index i is the result for the i-th value of the input's type: 256 for bytes; all 65536 for
16 bits, where kernels interpolate between 513.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.frontends.lite.fixed_point import round_away
from tfport.frontends.lite.quantized_value import LIMITS, QuantizedOutput, QuantizedValue

if TYPE_CHECKING:
    from numpy.typing import NDArray


STEPS = 512
Function = Callable[[Any], Any]


def values_of(x: QuantizedValue) -> NDArray[np.int64]:
    """All values of an input, without its zero point."""
    low, high = LIMITS["INT16" if x.value.dtype.name == "int16" else "UINT8"]
    return np.arange(low, high + 1, dtype=np.int64) - x.zero_point


def bounded(values: Any, output: QuantizedOutput) -> NDArray[Any]:
    """Results in the type and the range of an output; its zero point is added."""
    clipped: NDArray[Any] = np.clip(values + output.zero_point, output.low, output.high)
    return clipped.astype(output.dtype.numpy)


def real_table(x: QuantizedValue, output: QuantizedOutput, function: Function) -> NDArray[Any]:
    """The table of a function of real numbers, computed in float32."""
    if x.value.dtype.name == "int16":
        return interpolated_table(x.scale, 0, output.scale, function, np.float32)
    with np.errstate(all="ignore"):
        results = function(x.scale * values_of(x).astype(np.float32))
        whole = round_away(results * (np.float32(1) / output.scale)).astype(np.float32)
    integers = np.nan_to_num(whole, nan=-(2.0**31), posinf=2.0**31, neginf=-(2.0**31))
    return bounded(integers.astype(np.int64), output)


def interpolated_table(
    x_scale: Any, x_zero: int, y_scale: Any, function: Function, dtype: type[np.floating[Any]]
) -> NDArray[np.int16]:
    """The table of a function from int16 to int16: 512 steps, and a line in each."""
    return interpolated(sampled(x_scale, x_zero, y_scale, function, dtype), np.arange(-32768, 32768))


def sampled(
    x_scale: Any, x_zero: int, y_scale: Any, function: Function, dtype: type[np.floating[Any]]
) -> NDArray[np.int64]:
    """513 samples of a function, moved so that the error in the middle of a step is halved."""
    x_scale, y_scale = dtype(x_scale), dtype(y_scale)
    first, last = x_scale * dtype(-32768 - x_zero), x_scale * dtype(32767 - x_zero)
    step = (last - first) / dtype(STEPS)
    inverse = dtype(65536) / (y_scale * dtype(32767) - y_scale * dtype(-32768))
    index = np.arange(STEPS).astype(dtype)
    with np.errstate(all="ignore"):
        start, middle, end = (
            np.asarray(function(points), dtype)
            for points in (first + index * step, first + index * step + step / 2, first + (index + 1) * step)
        )
        whole = round_away(start * inverse).astype(dtype)
        between = round_away((end * inverse + whole) / 2).astype(dtype)
        error = between - round_away(middle * inverse).astype(dtype)
        samples = np.append(whole - round_away(error / 2), round_away(function(np.array([last])) * inverse))
    clipped: NDArray[np.float64] = np.clip(np.nan_to_num(samples, nan=-32768), -32768, 32767)
    return clipped.astype(np.int64)


def interpolated(samples: NDArray[np.int64], x: Any) -> NDArray[np.int16]:
    """Values between samples."""
    index, offset = 256 + (x >> 7), x & 0x7F
    slope = (samples[index + 1] - samples[index]).astype(np.int16).astype(np.int64)
    between: NDArray[np.int64] = samples[index] + ((slope * offset + 64) >> 7)
    return between.astype(np.int16)


# LOGISTIC and TANH of int16, which kernels interpolate in one table of sigmoid(i / 24)

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
