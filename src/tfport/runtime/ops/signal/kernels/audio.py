"""Audio: WAV files, spectrograms and mel-frequency cepstral coefficients."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import round_away

_SKIPPED = (b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml")


@host("DecodeWav")
def decode_wav(contents, *, desired_channels, desired_samples):
    if contents.ndim:
        raise RunFailed(f"contents must be a scalar, found shape {list(contents.shape)}")
    try:
        samples, rate = _read(bytes(contents[()]))
    except struct.error:
        raise RunFailed("the WAV data is truncated") from None
    if desired_channels > 0:
        samples = _with_channels(samples, desired_channels)
    if desired_samples >= 0:
        missing = max(desired_samples - len(samples), 0)
        samples = np.pad(samples[:desired_samples], ((0, missing), (0, 0)))
    return samples, np.array(rate).astype(np.int32)


def _with_channels(samples: Any, wanted: int) -> Any:
    """The first channels; repeat the last if more are requested."""
    at = np.minimum(np.arange(wanted), samples.shape[1] - 1)
    return samples[:, at]


def _read(data: bytes) -> tuple[Any, int]:
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise RunFailed("contents must be a WAV file, which starts with RIFF and WAVE")
    at = 12
    while data[at : at + 4] != b"fmt ":
        if data[at : at + 4] not in _SKIPPED:
            raise RunFailed(f"the WAV data has an unexpected chunk {data[at : at + 4]!r}")
        at += 8 + struct.unpack_from("<I", data, at + 4)[0]
    size, code, channels, rate, speed, step, bits = struct.unpack_from("<IHHIIHH", data, at + 4)
    if size not in (16, 18) or code != 1 or channels < 1 or bits != 16:
        raise RunFailed(f"only 16-bit PCM is supported, found format {code} with {bits} bits")
    if step != 2 * channels or speed != step * rate:
        raise RunFailed("the WAV header is inconsistent")
    return _data(data, at + 8 + size, channels, step), rate


def _data(data: bytes, at: int, channels: int, step: int) -> Any:
    samples = None
    while at < len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if kind != b"data":
            at += size
            continue
        count = size // step
        if samples is not None or at + count * step > len(data):
            raise RunFailed("the WAV data is truncated, or has two data chunks")
        samples = np.frombuffer(data, "<i2", count * channels, at).reshape(count, channels)
        at += count * step
    if samples is None:
        raise RunFailed("the WAV data has no data chunk")
    return samples.astype(np.float32) * np.float32(1 / 32768)


@host("EncodeWav")
def encode_wav(audio, sample_rate):
    if audio.ndim != 2 or sample_rate.ndim:
        raise RunFailed(
            "audio must have 2 axes, and sample_rate must be a scalar; "
            f"found shapes {list(audio.shape)} and {list(sample_rate.shape)}"
        )
    frames, channels = audio.shape
    rate = int(sample_rate)
    if not 0 < channels < 65536 or rate == 0 or 44 + audio.size * 2 > 2**32 - 1:
        raise RunFailed(f"cannot encode {channels} channels of {frames} samples at rate {rate} as WAV")
    rate %= 2**32
    scaled = round_away(audio * np.float32(32768))
    body = np.clip(scaled, -32768, 32767).astype("<i2").tobytes()
    step = 2 * channels
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * step % 2**32, step, 16)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(body))
        + b"WAVE"
        + form
        + b"data"
        + struct.pack("<I", len(body))
        + body
    )


@host("AudioSpectrogram")
def audio_spectrogram(input, *, window_size, stride, magnitude_squared):
    from scipy import fft

    if input.ndim != 2 or window_size < 2 or stride < 1:
        raise RunFailed(
            "input must have 2 axes, window_size must exceed 1, and stride must be positive; "
            f"found shape {list(input.shape)}, {window_size} and {stride}"
        )
    length = 1 << (window_size - 1).bit_length()
    samples = input.T.astype(np.float64)
    count = max((samples.shape[1] - window_size) // stride + 1, 0)
    if not count or not len(samples):
        return np.zeros((len(samples), count, length // 2 + 1), np.float32)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
    frames = np.lib.stride_tricks.sliding_window_view(samples, window_size, axis=1)[:, ::stride][:, :count]
    spectrum = fft.rfft(frames * window, length, axis=-1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    return power if magnitude_squared else np.sqrt(power)


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def _filters(bins: int, rate: float, count: int, low: float, high: float) -> Any:
    """The weight of each spectrum bin in each channel: overlapping triangles on the mel scale."""
    first, last = _mel(low), _mel(high)
    centers = first + (last - first) / (count + 1) * np.arange(1, count + 2)
    per_bin = 0.5 * rate / (bins - 1)
    start, end = int(1.5 + low / per_bin), int(high / per_bin)
    weights = np.zeros((count, bins))
    at = np.arange(bins)
    mels = _mel(at * per_bin)
    # the channel whose center is at or below a bin; -1 below the first
    channel = np.searchsorted(centers[: count + 1], mels, side="left") - 1
    channel = np.minimum(channel, count - 1) if count else channel
    for i in at[(at >= start) & (at <= end)]:
        k = channel[i]
        below = centers[k] if k >= 0 else first
        share = (centers[k + 1] - mels[i]) / (centers[k + 1] - below)
        if k >= 0:
            weights[k, i] += share
        if k + 1 < count:
            weights[k + 1, i] += 1 - share
    return weights


@host("Mfcc")
def mfcc(
    spectrogram,
    sample_rate,
    *,
    upper_frequency_limit,
    lower_frequency_limit,
    filterbank_channel_count,
    dct_coefficient_count,
):
    if spectrogram.ndim != 3 or sample_rate.size != 1:
        raise RunFailed(
            "spectrogram must have 3 axes, and sample_rate must be a scalar; "
            f"found shapes {list(spectrogram.shape)} and {list(sample_rate.shape)}"
        )
    bins, count, rate = spectrogram.shape[2], filterbank_channel_count, float(sample_rate.reshape(-1)[0])
    if count < 1 or bins < 2 or rate <= 0 or lower_frequency_limit < 0:
        raise RunFailed("filterbank_channel_count, sample_rate and lower_frequency_limit must be positive")
    if (
        upper_frequency_limit <= lower_frequency_limit
        or dct_coefficient_count < 1
        or dct_coefficient_count > count
    ):
        raise RunFailed(
            "frequency limits must increase, and dct_coefficient_count must be from 1 to the channel count"
        )
    weights = _filters(bins, rate, count, lower_frequency_limit, upper_frequency_limit)
    energies = np.sqrt(spectrogram.astype(np.float64)) @ weights.T
    logs = np.log(np.maximum(energies, 1e-12))
    k, n = np.arange(dct_coefficient_count)[:, None], np.arange(count)
    cosines = np.sqrt(2.0 / count) * np.cos(np.pi / count * k * (n + 0.5))
    return logs @ cosines.T
