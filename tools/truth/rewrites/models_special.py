"""Special functions."""

import tensorflow as tf
from making import floats, save


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
