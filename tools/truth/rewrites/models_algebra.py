"""Linear algebra, and small formulas of many kinds."""

import numpy as np
import tensorflow as tf
from making import SEED, floats, save, weights


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
