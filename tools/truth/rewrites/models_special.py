"""Special functions."""

import numpy as np
import tensorflow as tf
from making import SEED, floats, save, weights


def option_prices(path: str) -> None:
    """Black-Scholes prices, quantiles by ndtri, and a Gaussian copula."""

    def normal(x):
        return 0.5 * tf.math.erfc(-x / np.sqrt(2).astype(np.float32))

    def call(price, strike, years, probability):
        spread = 0.2 * tf.sqrt(years)
        d1 = (tf.math.log(price / strike) + (0.01 + 0.02) * years) / spread
        value = price * normal(d1) - strike * tf.exp(-0.01 * years) * normal(d1 - spread)
        quantile = tf.math.ndtri(probability)
        joint = normal(0.6 * quantile[:, None] + 0.8 * quantile[None])
        return {
            "value": value,
            "quantile": quantile,
            "joint": joint,
            "back": tf.math.erfcinv(2 * probability),
        }

    same = floats(None)
    save(path, tf.Module(), call, price=same, strike=same, years=same, probability=same)


def probit_network(path: str) -> None:
    """A network that ends in quantiles: ndtri of sigmoids, erfinv, lgamma, digamma."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.w = tf.Variable(weights(rng, 4, 3))

    def call(x):
        p = tf.sigmoid(x @ module.w)
        return {
            "probit": tf.math.ndtri(p),
            "erfinv": tf.math.erfinv(2 * p - 1),
            "beta": tf.math.lbeta(p + 0.5),
            "digamma": tf.math.digamma(p + 1),
            "cdf": tf.math.betainc(2.0 + p, 3.0 + p, 0.5 * p),
            "gamma": tf.math.igammac(1 + p, 2 * p),
            "zeta": tf.math.zeta(2 + p, 1 + p),
            "poly": tf.math.polygamma(1.0 + tf.zeros_like(p), 1 + p),
        }

    save(path, module, call, x=floats(None, 4))


def von_mises(path: str) -> None:
    """Directions: log densities with modified Bessel functions, and a Kaiser window."""

    def call(angle, concentration):
        log_norm = tf.math.log(tf.math.special.bessel_i0e(concentration)) + concentration
        density = concentration * tf.cos(angle) - log_norm - np.log(2 * np.pi).astype(np.float32)
        mean = tf.math.special.bessel_i1e(concentration) / tf.math.special.bessel_i0e(concentration)
        return {
            "density": density,
            "mean": mean,
            "window": tf.signal.kaiser_window(16, beta=6.0),
            "i0": tf.math.bessel_i0(0.2 * concentration),
            "k0": tf.math.special.bessel_k0e(concentration),
        }

    save(path, tf.Module(), call, angle=floats(None), concentration=floats(None))


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


def plasma(path: str) -> None:
    """Integrals of physics: exponential integral, Dawson, Spence's dilogarithm."""

    def call(x):
        special = tf.math.special
        positive = tf.abs(x) + 0.05
        well = special.expint(positive)
        line = special.dawsn(x)
        fermi = -special.spence(1 + tf.exp(-tf.abs(x)))
        return {"well": well, "line": line, "fermi": fermi}

    save(path, tf.Module(), call, x=floats(None, 5))
