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


def kalman(path: str) -> None:
    """A Kalman filter over observations: matrix products, inverses and solves in a scan."""
    a = tf.constant([[1.0, 0.5], [0.0, 0.9]])
    c = tf.constant([[1.0, 0.0]])

    def step(state, y):
        x, p = state
        x, p = tf.linalg.matvec(a, x), a @ p @ tf.transpose(a) + 0.05 * tf.eye(2)
        gain = tf.linalg.solve(c @ p @ tf.transpose(c) + 0.2, c @ p)
        x = x + gain[0] * (y - x[:1])[0]
        return x, (tf.eye(2) - tf.transpose(gain) @ c) @ p

    def call(series):
        x, p = tf.scan(step, series, (tf.zeros([2]), tf.eye(2)))
        return {"x": x, "p": p}

    save(path, tf.Module(), call, series=floats(None, 1))


def whitening(path: str) -> None:
    """Decompositions of a covariance: eigenvalues, SVD, QR, LU, exponential, square root, pseudo-inverse."""

    def call(x):
        centered = x - tf.reduce_mean(x, 1, keepdims=True)
        cov = tf.matmul(centered, centered, transpose_a=True) / 5 + 0.1 * tf.eye(4)
        values, vectors = tf.linalg.eigh(cov)
        white = centered @ (vectors / tf.sqrt(values)[:, None]) @ tf.linalg.matrix_transpose(vectors)
        return {
            "white": white,
            "values": values,
            "singular": tf.linalg.svd(x, compute_uv=False),
            "exp": tf.linalg.expm(0.1 * cov),
            "root": tf.linalg.sqrtm(cov),
            "pinv": tf.linalg.pinv(x),
            "r": tf.abs(tf.linalg.qr(x)[1]),
            "solve": tf.linalg.lstsq(x, x[..., :1], 0.1),
            "det": tf.linalg.det(cov),
            "slogdet": tf.linalg.slogdet(cov)[1],
            "inverse": tf.linalg.inv(cov),
        }

    save(path, tf.Module(), call, x=floats(None, 6, 4))


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


def nearest_items(path: str) -> None:
    """Approximate maximum inner products: a retrieval model."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.items, module.w = tf.Variable(weights(rng, 40, 6, scale=1)), tf.Variable(weights(rng, 4, 6))
    module.names = tf.constant([f"item{i}" for i in range(40)])

    def call(user):
        scores = tf.matmul(user @ module.w, module.items, transpose_b=True)
        best, where = tf.math.approx_max_k(scores, 5)
        return {"scores": best, "items": tf.gather(module.names, where)}

    save(path, module, call, user=floats(None, 4))


def nearest_neighbors(path: str) -> None:
    """Approximate nearest neighbors by distance, with a vote."""
    rng = np.random.default_rng(SEED)
    points, labels = weights(rng, 30, 3, scale=1), tf.constant(rng.integers(0, 4, 30), tf.int32)

    def call(x):
        distance = tf.reduce_sum(tf.square(points), 1) - 2 * tf.matmul(x, points, transpose_b=True)
        nearest, where = tf.math.approx_max_k(-distance, 3, recall_target=0.99, aggregate_to_topk=True)
        votes = tf.math.bincount(tf.gather(labels, where), minlength=4, maxlength=4, axis=-1)
        return {"nearest": nearest, "where": where, "label": tf.argmax(votes, 1)}

    save(path, tf.Module(), call, x=floats(None, 3))
