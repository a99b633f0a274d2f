"""Tables of functions of one quantized tensor, as the kernels of TensorFlow Lite fill them.

The entry of index i is the result for the i-th value of the input's type: 256 for bytes; all 65536 for
16 bits, where kernels interpolate between 513.
"""

from __future__ import annotations

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
    x_scale: Any, x_zero: int, y_scale: Any, function: Function, kind: type[np.floating[Any]]
) -> NDArray[np.int16]:
    """The table of a function from int16 to int16: 512 steps, and a line in each."""
    return interpolated(sampled(x_scale, x_zero, y_scale, function, kind), np.arange(-32768, 32768))


def sampled(
    x_scale: Any, x_zero: int, y_scale: Any, function: Function, kind: type[np.floating[Any]]
) -> NDArray[np.int64]:
    """513 samples of a function, moved so that the error in the middle of a step is halved."""
    x_scale, y_scale = kind(x_scale), kind(y_scale)
    first, last = x_scale * kind(-32768 - x_zero), x_scale * kind(32767 - x_zero)
    step = (last - first) / kind(STEPS)
    inverse = kind(65536) / (y_scale * kind(32767) - y_scale * kind(-32768))
    index = np.arange(STEPS).astype(kind)
    with np.errstate(all="ignore"):
        start, middle, end = (
            np.asarray(function(points), kind)
            for points in (first + index * step, first + index * step + step / 2, first + (index + 1) * step)
        )
        whole = round_away(start * inverse).astype(kind)
        between = round_away((end * inverse + whole) / 2).astype(kind)
        error = between - round_away(middle * inverse).astype(kind)
        samples = np.append(whole - round_away(error / 2), round_away(function(np.array([last])) * inverse))
    clipped: NDArray[np.float64] = np.clip(np.nan_to_num(samples, nan=-32768), -32768, 32767)
    return clipped.astype(np.int64)


def interpolated(samples: NDArray[np.int64], x: Any) -> NDArray[np.int16]:
    """Values between samples."""
    index, offset = 256 + (x >> 7), x & 0x7F
    slope = (samples[index + 1] - samples[index]).astype(np.int16).astype(np.int64)
    between: NDArray[np.int64] = samples[index] + ((slope * offset + 64) >> 7)
    return between.astype(np.int16)
