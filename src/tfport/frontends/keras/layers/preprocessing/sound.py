"""MelSpectrogram and STFTSpectrogram: which frequencies a signal has at each time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tfport.formats.keras.records import Json
from tfport.frontends.keras.data_format import CHANNELS_FIRST
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.rearranging import padded
from tfport.frontends.keras.signal_window import signal_window
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import convolve
from tfport.graph.building.arrays import (
    concat,
    expand_dims,
    matmul,
    pad,
    reshape,
    slice_axis,
    squeeze,
    transpose,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPSILON = 1e-7
HIGH_FREQUENCY_Q, BREAK_FREQUENCY = 1127.0, 700.0
"""The mel scale: `1127 log(1 + hertz / 700)`."""
Array: TypeAlias = "NDArray[np.float64]"


@layer("MelSpectrogram")
def mel_spectrogram(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    fft_length: int = 2048,
    sequence_stride: int = 512,
    sequence_length: int | None = None,
    window: str | None = "hann",
    sampling_rate: int = 16000,
    num_mel_bins: int = 128,
    min_freq: float = 20.0,
    max_freq: float | None = None,
    power_to_db: bool = True,
    top_db: float = 80.0,
    mag_exp: float = 2.0,
    min_power: float = 1e-10,
    ref_power: float = 1.0,
) -> LayerTensor:
    signal = expand_dims(b, x, 0) if x.rank == 1 else x
    if signal.rank != 2:
        raise b.refuse(f"it gets a tensor of rank {x.rank}; expected one signal, or one for each sample")
    half = fft_length // 2
    signal = padded(b, signal, [(0, 0), (half, half)], "reflect", 0)
    framed = expand_dims(b, signal, -1)
    parts = (
        convolve(b, framed, b.constant(kernel, b.dtype), [sequence_stride], "valid", [1])
        for kernel in _fourier(b, window, sequence_length or fft_length, fft_length)
    )
    real, imaginary = parts
    spectrum = b.Sqrt(b.Add(b.Square(real), b.Square(imaginary)))
    spectrum = b.Pow(spectrum, float(mag_exp))
    bins = _mel_bins(num_mel_bins, half + 1, sampling_rate, min_freq, max_freq or int(sampling_rate / 2))
    result = matmul(b, spectrum, b.constant(bins, b.dtype))
    if power_to_db:
        result = _decibels(b, result, top_db, min_power, ref_power)
    result = transpose(b, result, (0, 2, 1))
    return squeeze(b, result, 0) if x.rank == 1 else result


def _fourier(b: LayerBuilder, window: str | None, length: int, fft_length: int) -> tuple[Array, Array]:
    """Kernels `(fft_length, 1, frequencies)` for the real and the imaginary part."""
    shape = signal_window(b, window, length, fft_length)
    angles = 2 * np.pi * np.outer(np.arange(fft_length), np.arange(fft_length // 2 + 1)) / fft_length
    return (shape[:, None] * np.cos(angles))[:, None], (-shape[:, None] * np.sin(angles))[:, None]


def _mel_bins(count: int, frequencies: int, rate: int, lowest: float, highest: float) -> Array:
    """A matrix of triangles, evenly spread over the mel scale; the first frequency does not count."""
    mel = _hertz_to_mel(np.linspace(0.0, rate / 2.0, frequencies)[1:])[:, None]
    edges = np.linspace(_hertz_to_mel(np.float64(lowest)), _hertz_to_mel(np.float64(highest)), count + 2)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (mel - lower) / (center - lower), (upper - mel) / (upper - center)
    return np.pad(np.maximum(0.0, np.minimum(rising, falling)), ((1, 0), (0, 0)))


def _hertz_to_mel(hertz: Array | np.float64) -> Array:
    return np.asarray(HIGH_FREQUENCY_Q * np.log(1.0 + hertz / BREAK_FREQUENCY))


def _decibels(
    b: LayerBuilder, power: LayerTensor, top_db: float, min_power: float, ref_power: float
) -> LayerTensor:
    """Decibels over a reference, at most `top_db` below the highest of the whole batch."""
    levels = b.Mul(b.Log(b.Maximum(power, min_power)), 10.0 / math.log(10.0))
    levels = b.Sub(levels, 10.0 * math.log10(max(abs(ref_power), min_power)))
    highest = b.tensor(b.node("Max", levels, [0, 1, 2]), ())
    return b.Maximum(levels, b.Sub(highest, top_db))


@layer("STFTSpectrogram")
def stft_spectrogram(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    mode: str = "log",
    frame_length: int = 256,
    frame_step: int | None = None,
    fft_length: int | None = None,
    window: Json = "hann",
    periodic: bool = False,
    scaling: Json = "density",
    padding: str = "valid",
    expand_dims: bool = False,
    data_format: str | None = None,
) -> LayerTensor:
    """The window and the scaling are part of the kernels, which are weights."""
    first = data_format == CHANNELS_FIRST
    signal = x if first else transpose(b, x, (0, 2, 1))
    channels = signal.shape[1]
    if channels is None:
        raise b.refuse("its number of channels is unknown")
    bins = (fft_length or 2 ** math.ceil(math.log2(frame_length))) // 2 + 1
    rows = reshape(b, signal, (None, signal.shape[2], 1)) if signal.shape[2] is not None else None
    if rows is None:
        raise b.refuse("the length of its signal is unknown")
    parts = {
        name: convolve(
            b, rows, b.weight(f"{name}_kernel", (frame_length, 1, bins)), [frame_step or frame_length // 2],
            padding, [1],
        )
        for name, other in (("real", "imag"), ("imag", "real"))
        if mode != other
    }  # fmt: skip
    result = _in_mode(b, mode, parts)
    times, frequencies = result.shape[1:]
    if times is None or frequencies is None:
        raise b.refuse("the length of its signal is unknown")
    result = reshape(b, result, (None, channels, times, frequencies))
    if expand_dims:
        return result if first else transpose(b, result, (0, 2, 3, 1))
    joined = reshape(b, transpose(b, result, (0, 1, 3, 2)), (None, channels * frequencies, times))
    return joined if first else transpose(b, joined, (0, 2, 1))


def _in_mode(b: LayerBuilder, mode: str, parts: dict[str, LayerTensor]) -> LayerTensor:
    """The two parts of the transform, with the frequencies last, as the layer shows them."""
    if mode in parts and len(parts) == 1:
        return parts[mode]
    real, imaginary = parts["real"], parts["imag"]
    if mode == "angle":
        return b.Atan2(imaginary, real)
    if mode == "stft":
        return concat(b, [real, imaginary], -1)
    power = b.Add(b.Square(real), b.Square(imaginary))
    if mode == "psd":
        return b.Add(power, pad(b, slice_axis(b, power, -1, 1, -1), [(0, 0), (0, 0), (1, 1)]))
    if mode not in ("log", "magnitude"):
        raise b.refuse(f"its mode `{mode}` is unknown")
    magnitude = b.Sqrt(b.Maximum(power, EPSILON))
    return magnitude if mode == "magnitude" else b.Log(b.Maximum(magnitude, EPSILON))
