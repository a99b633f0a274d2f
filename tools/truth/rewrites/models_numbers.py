"""Signals, linear algebra, special functions, retrieval and quantization."""

import numpy as np
import tensorflow as tf
from making import SEED, floats, integers, save, weights


def speech_features(path: str) -> None:
    """MFCCs with their differences."""

    def call(sound):
        spectrum = tf.abs(tf.signal.stft(sound, 64, 32, fft_length=64))
        mel = spectrum @ tf.signal.linear_to_mel_weight_matrix(12, 33, 8000, 80.0, 3800.0)
        log = tf.math.log(mel + 1e-4)
        return {"mfcc": tf.signal.mfccs_from_log_mel_spectrograms(log)[..., :8], "log": log}

    save(path, tf.Module(), call, sound=floats(None, None))


def denoiser(path: str) -> None:
    """A spectral gate: stft, mask, inverse stft; and DCT, FFT shift, overlap-add."""

    def call(sound):
        spectrum = tf.signal.stft(sound, 32, 8, window_fn=tf.signal.hann_window)
        power = tf.abs(spectrum)
        gate = tf.cast(power > 0.3 * tf.reduce_max(power, -1, keepdims=True), tf.complex64)
        window = tf.signal.inverse_stft_window_fn(8, tf.signal.hann_window)
        clean = tf.signal.inverse_stft(spectrum * gate, 32, 8, window_fn=window)
        return {
            "clean": clean,
            "dct": tf.signal.dct(sound[:, :16], norm="ortho"),
            "angle": tf.math.angle(spectrum * gate),
            "shifted": tf.signal.fftshift(power, -1),
            "mdct": tf.signal.mdct(sound[:, :64], 16, norm="ortho"),
        }

    save(path, tf.Module(), call, sound=floats(None, 96))


def image_spectrum(path: str) -> None:
    """Two-dimensional FFTs: blur by multiplication of spectra, real FFTs of odd sizes, complex parts."""

    def call(image):
        spectrum = tf.signal.fft2d(tf.cast(image, tf.complex64))
        y, x = tf.linspace(0.0, 1.0, 9), tf.linspace(0.0, 1.0, 7)
        low = tf.exp(-3.0 * (y[:, None] + x[None]))
        blurred = tf.math.real(tf.signal.ifft2d(spectrum * tf.cast(low, tf.complex64)))
        half = tf.signal.rfft2d(image, [10, 8])
        back = tf.signal.irfft2d(half, [10, 8])
        cube = tf.signal.fft3d(tf.cast(image[..., None], tf.complex64))
        return {
            "blurred": blurred,
            "power": tf.abs(half),
            "back": back,
            "conj": tf.math.imag(tf.math.conj(spectrum)),
            "cube": tf.math.real(cube),
        }

    save(path, tf.Module(), call, image=floats(None, 9, 7))


def gaussian_process(path: str) -> None:
    """Predictions of a Gaussian process: Cholesky, triangular solves, log determinant."""
    rng = np.random.default_rng(SEED)
    known, values = weights(rng, 8, 2, scale=1), weights(rng, 8, 1, scale=1)
    module = tf.Module()
    module.scale = tf.Variable(0.8)

    def kernel(a, b):
        distance = tf.reduce_sum(tf.math.squared_difference(a[:, None], b[None]), -1)
        return tf.exp(-0.5 * distance / tf.square(module.scale))

    def call(x):
        factor = tf.linalg.cholesky(kernel(known, known) + 0.1 * tf.eye(8))
        alpha = tf.linalg.cholesky_solve(factor, values)
        cross = kernel(known, x)
        v = tf.linalg.triangular_solve(factor, cross)
        return {
            "mean": tf.transpose(cross) @ alpha,
            "variance": 1 - tf.reduce_sum(v * v, 0),
            "log_det": 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor))),
        }

    save(path, module, call, x=floats(None, 2))


def heat_equation(path: str) -> None:
    """Implicit steps of diffusion: tridiagonal solves and products, banded matrices, diagonals."""

    def call(u):
        n = tf.shape(u)[1]
        upper, lower = tf.fill([1, n], -0.2), tf.fill([1, n], -0.2)
        bands = tf.stack([upper, tf.fill([1, n], 1.4), lower], 1)
        solved = tf.linalg.tridiagonal_solve(tf.repeat(bands, tf.shape(u)[0], 0), u[..., None])[..., 0]
        ahead = tf.linalg.tridiagonal_matmul(tf.repeat(bands, tf.shape(u)[0], 0), u[..., None])[..., 0]
        band = tf.linalg.band_part(u[:, :, None] * u[:, None, :], 1, 1)
        diagonals = tf.linalg.diag(u, k=-1, padding_value=0.5)
        return {
            "solved": solved,
            "ahead": ahead,
            "band": band,
            "diagonals": diagonals,
            "parts": tf.linalg.diag_part(band, k=(-1, 1), align="LEFT_RIGHT"),
        }

    save(path, tf.Module(), call, u=floats(None, 5))


# Special functions


def ring_waves(path: str) -> None:
    """Waves on a drum and light behind a slit: Bessel J, Y, K and Fresnel integrals."""

    def call(radius):
        special = tf.math.special
        sine, cosine = special.fresnel_sin(radius), special.fresnel_cos(radius)
        light = 0.5 * ((cosine + 0.5) ** 2 + (sine + 0.5) ** 2)
        return {
            "drum": special.bessel_j0(2.4 * radius) + 0.3 * special.bessel_j1(3.8 * radius),
            "light": light,
            "outside": special.bessel_y0(radius + 0.5) - special.bessel_y1(radius + 0.5),
            "decay": special.bessel_k0(radius + 0.1) + special.bessel_k1e(radius + 0.1),
            "i1": special.bessel_i1(radius),
        }

    save(path, tf.Module(), call, radius=floats(None, None))


# Retrieval


# Quantization


def quantized_activations(path: str) -> None:
    """Features quantized by channel at run time, and back; fake quantization by channel too."""
    low, high = np.array([-1, -2, -0.5, -4], np.float32), np.array([1, 2, 0.5, 4], np.float32)

    def call(x):
        coded = tf.quantization.quantize(x, low, high, tf.qint8, mode="SCALED", axis=1)
        back = tf.quantization.dequantize(
            coded.output, coded.output_min, coded.output_max, mode="SCALED", axis=1
        )
        faked = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high, num_bits=6)
        return {"back": back, "faked": faked, "codes": tf.cast(tf.bitcast(coded.output, tf.int8), tf.int32)}

    save(path, tf.Module(), call, x=floats(None, 4))


def quantized_table(path: str) -> None:
    """An embedding table in uint8, dequantized by row, and a ranking of it."""
    rng = np.random.default_rng(SEED)
    table = rng.integers(0, 256, (25, 6)).astype(np.uint8)
    low = rng.uniform(-2, -1, 25).astype(np.float32)
    high = rng.uniform(1, 2, 25).astype(np.float32)

    def call(ids):
        rows = tf.quantization.dequantize(
            tf.bitcast(tf.constant(table), tf.quint8), low, high, mode="MIN_COMBINED", axis=0
        )
        chosen = tf.gather(rows, ids)
        return {
            "pooled": tf.reduce_mean(chosen, 1),
            "order": tf.argsort(tf.reduce_sum(chosen, -1), 1, "DESCENDING"),
        }

    save(path, tf.Module(), call, ids=integers(None, None))


# Decoding of sequences


def speech_decoder(path: str) -> None:
    """CTC decoding, greedy and by beams, to strings."""
    letters = tf.constant(list("abcdefg "))

    def call(logits, lengths):
        steps = tf.transpose(logits, [1, 0, 2])
        (greedy,), score = tf.nn.ctc_greedy_decoder(steps, lengths)
        (beam,), log = tf.nn.ctc_beam_search_decoder(steps, lengths, beam_width=8, top_paths=1)
        return {
            "text": tf.strings.reduce_join(tf.gather(letters, tf.sparse.to_dense(greedy)), 1),
            "score": score,
            "beam": tf.sparse.to_dense(beam, -1),
            "log": log,
        }

    save(path, tf.Module(), call, logits=floats(None, 12, 9), lengths=integers(None))


def compact_math(path: str) -> None:
    """Losses and activations of tf.nn, cumulative log-sum-exp, bits, complex numbers, float64."""

    def call(x, bits):
        z = tf.complex(x, tf.reverse(x, [1]))
        wide = tf.cast(x, tf.float64)
        return {
            "gelu": tf.nn.gelu(x, approximate=True),
            "sum": tf.math.cumulative_logsumexp(x, axis=1, exclusive=True),
            "ones": tf.raw_ops.PopulationCount(x=bits),
            "shifted": tf.bitwise.right_shift(tf.bitwise.invert(bits), 2),
            "polar": tf.abs(tf.exp(z)),
            "wide": tf.math.softplus(wide) - tf.math.reduce_logsumexp(wide),
            "next": tf.math.nextafter(x, x + 1),
            "moments": tf.nn.moments(x, [1], keepdims=True)[1],
            "std": tf.math.reduce_std(x, 1),
            "mod": tf.math.floormod(x, 0.7),
            "round": tf.round(x * 10),
            "sinc": tf.math.sin(x) / (x + 3.0),
            "depth": tf.nn.depth_to_space(tf.reshape(x, [-1, 1, 1, 4]), 2),
            "lrn": tf.nn.local_response_normalization(tf.reshape(x, [-1, 1, 1, 4]), 1),
        }

    save(path, tf.Module(), call, x=floats(None, 4), bits=tf.TensorSpec([None], tf.uint8))
