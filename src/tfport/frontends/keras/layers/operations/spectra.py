"""Fourier transforms, signals in overlapping frames, and complex numbers.

The transforms represent complex numbers as pairs of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.rearranging import padded
from tfport.frontends.keras.signal_window import signal_window
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import (
    expand_dims,
    gather,
    reshape,
    select,
    slice_axis,
    split,
    stack,
    transpose,
)
from tfport.graph.building.sizes import count_to, shape_vector, sizes
from tfport.graph.dtypes import BOOL, INT32, DType

if TYPE_CHECKING:
    from numpy.typing import NDArray


Pair = Sequence[LayerTensor]


def _parts(b: LayerBuilder, x: LayerTensor) -> Pair:
    return [part(b, "Real", x), part(b, "Imag", x)]


@layer("ops.FFT")
def fft(b: LayerBuilder, x: Pair) -> Pair:
    signal = complex_of(b, *x)
    return _parts(b, b.FFT(signal))


@layer("ops.FFT2 ops.IFFT2")
def fft2(b: LayerBuilder, x: Pair) -> Pair:
    signal = complex_of(b, *x)
    op = "FFT2D" if b.instance.config.class_name == "FFT2" else "IFFT2D"
    return _parts(b, b.result(op, signal))


@layer("ops.RFFT")
def rfft(b: LayerBuilder, x: LayerTensor, *, fft_length: int | None = None) -> Pair:
    return _parts(b, _real_transform(b, x, fft_length))


def _real_transform(b: LayerBuilder, x: LayerTensor, length: int | None) -> LayerTensor:
    size = sizes(b, x)[-1] if length is None else length
    known = size // 2 + 1 if isinstance(size, int) else None
    x = x if length is None else _filled(b, x, length)
    return b.tensor(b.node("RFFT", x, _vector(b, size)), (*x.shape[:-1], known))


@layer("ops.IRFFT")
def irfft(b: LayerBuilder, x: Pair, *, fft_length: int | None = None) -> LayerTensor:
    spectrum = complex_of(b, *x)
    size = sizes(b, spectrum)[-1]
    length: int | LayerTensor
    if fft_length is not None:
        length = fft_length
    else:
        length = 2 * (size - 1) if isinstance(size, int) else b.Mul(b.Sub(size, 1), 2)
    known = length if isinstance(length, int) else None
    spectrum = spectrum if fft_length is None else _filled(b, spectrum, fft_length // 2 + 1)
    return b.tensor(b.node("IRFFT", spectrum, _vector(b, length)), (*spectrum.shape[:-1], known))


def _filled(b: LayerBuilder, x: LayerTensor, length: int) -> LayerTensor:
    """The tensor with zeros at the end of its last axis, if that is shorter."""
    size = sizes(b, x)[-1]
    if isinstance(size, int) and size >= length:
        return x
    more = length - size if isinstance(size, int) else b.Maximum(b.Sub(length, size), 0)
    paddings = shape_vector(b, [0] * (2 * x.rank - 1) + [more])
    rows = b.constant(paddings) if isinstance(paddings, list) else b.tensor(paddings, (2 * x.rank,))
    known = None if x.shape[-1] is None else length
    return b.tensor(b.node("Pad", x, reshape(b, rows, (x.rank, 2))), (*x.shape[:-1], known))


def _vector(b: LayerBuilder, size: int | LayerTensor) -> LayerTensor:
    return b.constant([size], INT32) if isinstance(size, int) else reshape(b, size, (1,))


@layer("ops.ExtractSequences")
def extract_sequences(
    b: LayerBuilder, x: LayerTensor, *, sequence_length: int, sequence_stride: int
) -> LayerTensor:
    """Frames of a signal that start at regular intervals."""
    size = sizes(b, x)[-1]
    count: int | LayerTensor
    if isinstance(size, int):
        count = max(0, (size - sequence_length) // sequence_stride + 1)
    else:
        count = b.Maximum(b.Add(b.FloorDiv(b.Sub(size, sequence_length), sequence_stride), 1), 0)
    return gather(b, x, _frame_positions(b, count, sequence_length, sequence_stride), -1)


def _frame_positions(b: LayerBuilder, count: int | LayerTensor, length: int, stride: int) -> LayerTensor:
    """The positions of the elements of each frame."""
    starts = b.Mul(count_to(b, count), stride)
    return b.Add(expand_dims(b, starts, 1), b.constant(np.arange(length), INT32))


@layer("ops.STFT")
def stft(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: str | None = "hann",
    center: bool = True,
) -> Pair:
    if center:
        around = (fft_length // 2, fft_length // 2)
        x = padded(b, x, [*[(0, 0)] * (x.rank - 1), around], "reflect", 0)
    frames = extract_sequences(b, x, sequence_length=fft_length, sequence_stride=sequence_stride)
    if window is not None:
        weights = signal_window(b, window, sequence_length, fft_length)
        frames = b.Mul(frames, b.constant(weights, frames.dtype))
    return _parts(b, _real_transform(b, frames, fft_length))


@layer("ops.ISTFT")
def istft(
    b: LayerBuilder,
    x: Pair,
    *,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: str | None = "hann",
    center: bool = True,
) -> LayerTensor:
    """The signal whose frames have these spectra: the sum of the overlapping frames."""
    frames = irfft(b, x, fft_length=fft_length)
    if window is not None:
        weights = signal_window(b, window, sequence_length, fft_length)
        frames = b.Mul(frames, b.constant(_inverse_window(weights, sequence_stride), frames.dtype))
    signal = _overlapped(b, frames, sequence_stride)
    start = fft_length // 2 if center else 0
    if length is not None:
        return slice_axis(b, signal, -1, start, start + length)
    return slice_axis(b, signal, -1, start, -start or None)


def _inverse_window(weights: NDArray[np.float64], stride: int) -> NDArray[np.float64]:
    """The weights divided by the sum of the squares that fall on the same position."""
    overlaps = -(-len(weights) // stride)
    squares = np.pad(weights**2, (0, overlaps * stride - len(weights))).reshape(overlaps, stride).sum(0)
    return np.asarray(weights / np.tile(squares, overlaps)[: len(weights)])


def _overlapped(b: LayerBuilder, frames: LayerTensor, stride: int) -> LayerTensor:
    *outer, count, length = sizes(b, frames)
    if not isinstance(length, int):
        raise b.refuse("the length of its frames is unknown")
    rows = transpose(b, reshape(b, frames, (None, count, length)), (1, 2, 0))
    total: int | LayerTensor
    if isinstance(count, int):
        total = (count - 1) * stride + length
    else:
        total = b.Add(b.Mul(b.Sub(count, 1), stride), length)
    node = b.node("UnsortedSegmentSum", rows, _frame_positions(b, count, length, stride), total)
    known = total if isinstance(total, int) else None
    signal = transpose(b, b.tensor(node, (known, None)), (1, 0))
    return b.tensor(reshape(b, signal, (*outer, total)).value, (*frames.shape[:-2], known))


# Complex numbers and their parts


@layer("ops.Real")
def real(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return part(b, "Real", x) if x.dtype.is_complex else x


@layer("ops.Imag")
def imaginary(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return part(b, "Imag", x) if x.dtype.is_complex else b.ZerosLike(x)


def part(b: LayerBuilder, op: str, x: LayerTensor) -> LayerTensor:
    """The `Real` or `Imag` part of complex numbers."""
    dtype = DType.parse("float64" if str(x.dtype) == "complex128" else "float32")
    return b.result(op, x, Tout=dtype)


def complex_of(b: LayerBuilder, real_part: LayerTensor, imaginary_part: LayerTensor) -> LayerTensor:
    dtype = DType.parse("complex128" if str(real_part.dtype) == "float64" else "complex64")
    return b.Complex(real_part, imaginary_part, Tout=dtype)


@layer("ops.Conj ops.Conjugate")
def conjugate(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Conj(x) if x.dtype.is_complex else x


@layer("ops.Angle")
def angle(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    if x.dtype.is_complex:
        return b.Atan2(part(b, "Imag", x), part(b, "Real", x))
    x = as_floating(b, x)
    return select(b, b.Less(x, 0.0), b.Add(b.ZerosLike(x), 3.141592653589793), b.ZerosLike(x))


@layer("ops.Isreal")
def is_real(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    if x.dtype.is_complex:
        return b.Equal(part(b, "Imag", x), 0.0)
    return b.LogicalNot(b.cast(b.ZerosLike(x), BOOL))


@layer("ops.Polar")
def polar(b: LayerBuilder, abs_: LayerTensor, angle: LayerTensor) -> LayerTensor:
    return complex_of(b, b.Mul(abs_, b.Cos(angle)), b.Mul(abs_, b.Sin(angle)))


@layer("ops.ViewAsReal")
def view_as_real(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return stack(b, [real(b, x), imaginary(b, x)], -1)


@layer("ops.ViewAsComplex")
def view_as_complex(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return complex_of(b, *split(b, x, 2, -1, drop=True))
