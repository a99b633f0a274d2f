"""Fourier transforms, complex and real, over the last axes or any axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _axes(x: Any, count: int) -> tuple[int, ...]:
    if x.ndim < count:
        raise RunFailed(f"input must have at least {count} axes, found shape {list(x.shape)}")
    return tuple(range(x.ndim - count, x.ndim))


def _complex(x: Any, axes: tuple[int, ...], inverse: bool) -> Any:
    from scipy import fft

    if not x.size:
        return x
    return (fft.ifftn if inverse else fft.fftn)(x, axes=axes)


def _declare(suffix: str, count: int) -> None:
    """The ops over the last `count` axes."""

    @host(f"FFT{suffix} BatchFFT{suffix}")
    def fft(input):
        return _complex(input, _axes(input, count), False)

    @host(f"IFFT{suffix} BatchIFFT{suffix}")
    def ifft(input):
        return _complex(input, _axes(input, count), True)

    @host(f"RFFT{suffix}")
    def rfft(input, fft_length, *, Tcomplex):
        return _real(input, fft_length, _axes(input, count))

    @host(f"IRFFT{suffix}")
    def irfft(input, fft_length, *, Treal):
        return _inverse_real(input, fft_length, _axes(input, count))


_declare("", 1)
_declare("2D", 2)
_declare("3D", 3)


def _lengths(fft_length: Any, count: int) -> list[int]:
    if fft_length.shape != (count,):
        raise RunFailed(f"fft_length must have {count} elements, found shape {list(fft_length.shape)}")
    lengths = [int(n) for n in fft_length]
    if min(lengths) < 0:
        raise RunFailed(f"fft_length must not be negative, found {lengths}")
    return lengths


def _real(x: Any, fft_length: Any, axes: tuple[int, ...]) -> Any:
    from scipy import fft

    lengths = _lengths(fft_length, len(axes))
    _check_lengths(x, axes, lengths)
    shape = list(x.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    shape[axes[-1]] = lengths[-1] // 2 + 1 if lengths[-1] else 0
    if not x.size or 0 in shape:
        return np.zeros(shape, np.complex128)
    return fft.rfftn(x, s=lengths, axes=axes)


def _inverse_real(x: Any, fft_length: Any, axes: tuple[int, ...]) -> Any:
    from scipy import fft

    lengths = _lengths(fft_length, len(axes))
    halves = [*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0]
    _check_lengths(x, axes, halves)
    shape = list(x.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    if not x.size or 0 in shape:
        return np.zeros(shape)
    inner = x[tuple(slice(halves[axes.index(i)]) if i in axes else slice(None) for i in range(x.ndim))]
    if len(axes) > 1:
        inner = fft.ifftn(inner, axes=axes[:-1])
    return fft.irfft(inner, lengths[-1], axis=axes[-1])


def _check_lengths(x: Any, axes: tuple[int, ...], lengths: list[int]) -> None:
    for axis, length in zip(axes, lengths, strict=True):
        if x.size and x.shape[axis] < length:
            raise RunFailed(
                f"axis {axis} of the input must have at least {length} elements, found {x.shape[axis]}"
            )


def _chosen(x: Any, axes: Any) -> tuple[int, ...]:
    chosen = [int(a) for a in axes.reshape(-1)]
    if any(not -x.ndim <= a < x.ndim for a in chosen):
        raise RunFailed(f"axes {chosen} are out of range for shape {list(x.shape)}")
    return tuple(a % x.ndim for a in chosen)


def _cut(x: Any, fft_length: Any, axes: tuple[int, ...]) -> Any:
    lengths = _lengths(fft_length, len(axes))
    _check_lengths(x, axes, lengths)
    return x[tuple(slice(lengths[axes.index(i)]) if i in axes else slice(None) for i in range(x.ndim))]


@host("FFTND")
def fftnd(input, fft_length, axes):
    chosen = _chosen(input, axes)
    return _complex(_cut(input, fft_length, chosen), chosen, False)


@host("IFFTND")
def ifftnd(input, fft_length, axes):
    chosen = _chosen(input, axes)
    return _complex(_cut(input, fft_length, chosen), chosen, True)


@host("RFFTND")
def rfftnd(input, fft_length, axes, *, Tcomplex):
    return _real(input, fft_length, _chosen(input, axes))


@host("IRFFTND")
def irfftnd(input, fft_length, axes, *, Treal):
    return _inverse_real(input, fft_length, _chosen(input, axes))
